import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from 'pino';
import { concatMap, debounceTime, ReplaySubject, Subject, throttle } from 'rxjs';
import type { Config } from '../../gateway/config/gateway-config.js';
import type { Metrics } from '../../gateway/metrics/metrics.js';
import type { Workers } from '../../gateway/workers/start-workers.js';
import { reasonOf } from '../../src/files/file-errors.js';
import type { Changed } from './read-changed.js';
import type { ServeConfig } from './serve-config.js';

export interface Reloading {
  readonly gateway: Pick<Workers, 'reload'>;
  /** Configuration with which the gateway was started. */
  readonly config: ServeConfig;
  /** Reads the configuration again, which changes the one in force, until the signal. */
  readonly read: (running: Config, signal: AbortSignal) => Promise<Changed>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'reloaded'>;
}

/** How often files are looked at. Notices of the file system do not follow the links of mounted secrets. */
const WATCH_MS = 1000;

/**
 * Hears SIGHUP from now on, and changes of files. What comes while the gateway starts waits until it has.
 * @param watched configuration that is read again when it, or a file with the key of a client, changes; `null` for none
 */
export function reloadSignals(watched: string | null) {
  const signals = new ReplaySubject<void>(1);
  const heard = (): void => signals.next();
  const changes = new Subject<void>();
  // A file that is still being written changes again.
  const settled = changes.pipe(debounceTime(1.5 * WATCH_MS)).subscribe(heard);
  const changed = (): void => changes.next();
  const closing = new AbortController();
  const done = new Subject<void>();
  const files = new Set<string>();
  const watch = ({ access }: Pick<Config, 'access'>): void => {
    if (watched === null) return;
    const wanted = new Set([watched, ...access.keys.flatMap(({ key_file: file }) => file ?? [])]);
    for (const file of wanted)
      if (!files.has(file)) watchFile(file, { interval: WATCH_MS, persistent: false }, changed);
    for (const file of files) if (!wanted.has(file)) unwatchFile(file, changed);
    files.clear();
    for (const file of wanted) files.add(file);
  };
  process.on('SIGHUP', heard);
  return {
    /** Starts reloading: each time the keys and policies of the configuration as it is then are taken over. */
    reload: (reloading: Reloading): void => {
      let running: Config = reloading.config;
      watch(running);
      signals
        .pipe(
          // All that come meanwhile ask for the same: one more.
          throttle(() => done, { leading: true, trailing: true }),
          concatMap(async () => {
            running = await reload(running, reloading, closing.signal);
            watch(running);
            done.next();
          }),
        )
        .subscribe();
    },
    close: (): void => {
      process.off('SIGHUP', heard);
      for (const file of files) unwatchFile(file, changed);
      settled.unsubscribe();
      closing.abort();
      signals.complete();
    },
  };
}

/** @returns the configuration in force */
async function reload(
  running: Config,
  { gateway, read, logger, metrics }: Reloading,
  signal: AbortSignal,
): Promise<Config> {
  try {
    const { config, keys, restart } = await read(running, signal);
    await gateway.reload({ ...config, access: { ...config.access, keys: [...keys] } });
    metrics.reloaded(true);
    logger.info('configuration reloaded');
    if (restart.length > 0) logger.warn({ fields: restart }, 'changed fields take effect after a restart');
    return config;
  } catch (error) {
    if (signal.aborted) return running;
    metrics.reloaded(false);
    logger.error({ reason: reasonOf(error) }, 'configuration refused; the one before is in force');
    return running;
  }
}
