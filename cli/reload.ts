import type { Logger } from 'pino';
import { concatMap, ReplaySubject } from 'rxjs';
import type { Gateway } from '../gateway/start-gateway.js';
import type { ServeConfig } from './serve-config.js';

export interface Reloading {
  readonly gateway: Pick<Gateway, 'replacePolicies'>;
  /** Configuration with which the gateway was started. */
  readonly config: ServeConfig;
  /** Reads the configuration again. */
  readonly read: () => Promise<ServeConfig>;
  readonly logger: Logger;
}

/** Hears SIGHUP from now on. One that comes while the gateway starts waits until it has. */
export function hangups() {
  const signals = new ReplaySubject<void>(1);
  const heard = (): void => signals.next();
  process.on('SIGHUP', heard);
  return {
    /** Starts reloading: each signal takes over the policies of the configuration as it is then. */
    reload: (reloading: Reloading): void => {
      signals.pipe(concatMap(() => reloadPolicies(reloading))).subscribe();
    },
    close: (): void => {
      process.off('SIGHUP', heard);
      signals.complete();
    },
  };
}

async function reloadPolicies({ gateway, config, read, logger }: Reloading): Promise<void> {
  try {
    const { changedFields } = await import('../gateway/config/changed-fields.js');
    const changed = await read();
    gateway.replacePolicies(changed);
    logger.info('policies reloaded');
    const fields = changedFields(config, changed);
    if (fields.length > 0) logger.warn({ fields }, 'changed fields need a restart');
  } catch (error) {
    logger.error({ err: error }, 'configuration refused; the policies have not changed');
  }
}
