import { once, setMaxListeners } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { thisMachine } from '#bench/markdown-table.js';
import { writeWhole } from '#bench/result-log.js';
import { Progress } from '#cli/progress.js';
import type { RunningServer } from '../servers.js';
import { Chance } from './chance.js';
import { GROUPS, type Group, honestStreams } from './honest.js';
import { hostileClient } from './hostile-clients.js';
import { injectFaults } from './injector.js';
import type { FaultsReport } from './report.js';
import { Tally } from './tally.js';
import { HealthWatch, metric, type Sample, sampleOf } from './watch.js';

/** API keys by the name of their variable. */
export const KEYS = {
  HONEST_KEY: 'key-of-the-honest-clients',
  HOSTILE_KEY: 'key-of-the-hostile-clients',
  SCRAPE_KEY: 'key-that-reads-metrics',
};
/** An own model writes as fast as it can, a proxied stream as slowly as its upstream: two cores carry few of the former. */
const OWN_SHARE = 0.04;
/** How long the gateway may take at the end until it is ready and nothing is under way. */
const RECOVERY_MS = 120_000;
/** Idle connections of clients and to upstreams are kept for a minute. */
const REST_MS = 90_000;

/** Longer than any time limit of a proxied stream. */
const SILENCE_MS = 130_000;

export interface FaultsRun {
  readonly settings: FaultsReport['settings'];
  readonly output: string;
  /** The file that is full most of the time. */
  readonly log: string;
  readonly gateway: RunningServer;
  /** Kinds of misbehaviour of the hostile upstream. */
  readonly ways: readonly string[];
  readonly healthUrl: string;
}

/** @throws Error if the gateway ends */
export async function runFaults(run: FaultsRun): Promise<FaultsReport> {
  const { settings, output, log, gateway, ways } = run;
  const { url, child } = gateway;
  const { seed, minutes, streams, hostile, every } = settings;
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the gateway exited (${signal ?? `code ${code}`})`);
  });
  const progress = new Progress(Math.ceil((60 * minutes) / every));
  const watch = new HealthWatch(run.healthUrl);
  const tallies = { honest: new Tally(), faults: new Tally(), hostile: new Tally() };
  const [faultsEnd, end] = [new AbortController(), new AbortController()];
  for (const { signal } of [faultsEnd, end]) setMaxListeners(Number.POSITIVE_INFINITY, signal);
  const stop = (): void => faultsEnd.abort();
  process.once('SIGINT', stop);
  const samples: Sample[] = [];
  const harm: string[] = [];
  let silenceMs = 0;
  const ownDelay = monitorEventLoopDelay();
  ownDelay.enable();
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  const before = await sampleOf(gateway, 0);
  const save = (after: Sample, recoveredAfter: number | null, logLinesDropped: number): FaultsReport => {
    const report = {
      machine: thisMachine(),
      settings,
      honest: tallies.honest.counts,
      hostile: tallies.hostile.counts,
      faults: tallies.faults.counts.faults ?? {},
      health: watch.health,
      silenceMs,
      logLinesDropped,
      clientsLateMs: ownDelay.max / 1e6,
      rest: { before, after },
      recoveredAfter,
      harm,
      samples,
    };
    writeWhole(output, `${JSON.stringify(report, null, 2)}\n`);
    return report;
  };
  const dropped = (): Promise<number> => metric(url, KEYS.SCRAPE_KEY, 'flinch_log_lines_dropped_total');
  const sampling = async (): Promise<void> => {
    while (!faultsEnd.signal.aborted && seconds() < 60 * minutes) {
      await setTimeout(1000 * every, undefined, { signal: faultsEnd.signal }).catch(() => {});
      const sample = await sampleOf(gateway, seconds());
      samples.push(sample);
      save(sample, null, await dropped().catch(() => Number.NaN));
      progress.advance();
    }
    stop();
  };
  const honest = honestLoad(streams, seed, {
    url,
    apiKey: KEYS.HONEST_KEY,
    signal: end.signal,
    tally: tallies.honest,
    silence: (group, ms) => {
      silenceMs = Math.max(silenceMs, ms);
      if (ms > SILENCE_MS)
        harm.push(`${seconds().toFixed(0)} s: ${group}: nothing for ${(ms / 1000).toFixed(0)} s`);
    },
    harmed: (what) => void harm.push(`${seconds().toFixed(0)} s: ${what}`),
  });
  const common = { url, signal: faultsEnd.signal };
  const misuse = { ...common, apiKey: KEYS.HOSTILE_KEY, ways, tally: tallies.hostile };
  const attacks = [
    ...Array.from({ length: hostile }, (_, i) => hostileClient(new Chance(seed + 100 + i), misuse)),
    injectFaults(new Chance(seed + 99), { ...common, apiKey: KEYS.HONEST_KEY, log, tally: tallies.faults }),
  ];
  /** Sample taken when no more descriptors are open than before, or after some time. */
  const atRest = async (): Promise<Sample> => {
    const ended = performance.now();
    for (;;) {
      const sample = await sampleOf(gateway, seconds());
      if (sample.descriptors <= before.descriptors || performance.now() - ended > REST_MS) return sample;
      await setTimeout(1000);
    }
  };
  const whole = async (): Promise<FaultsReport> => {
    await Promise.all([sampling(), watch.watch(faultsEnd.signal), ...attacks]);
    end.abort(); // the last honest streams end without faults around them
    await honest;
    const ended = performance.now();
    const since = (): number => performance.now() - ended;
    while (!(await restful(url, watch)) && since() < RECOVERY_MS) await setTimeout(500);
    const recoveredAfter = since() < RECOVERY_MS ? since() / 1000 : null;
    if (recoveredAfter === null) harm.push('the gateway did not come to rest');
    return save(await atRest(), recoveredAfter, await dropped());
  };
  try {
    return await Promise.race([whole(), exited]);
  } finally {
    process.off('SIGINT', stop);
    stop();
    end.abort();
    progress.stop();
    ownDelay.disable();
  }
}

async function honestLoad(
  streams: number,
  seed: number,
  options: Parameters<typeof honestStreams>[3],
): Promise<void> {
  const own = Math.max(1, Math.round(OWN_SHARE * streams));
  const proxied = streams - 2 * own;
  const counts: Readonly<Record<Group, number>> = {
    'proxied, SSE': Math.ceil(proxied / 2),
    'proxied, WebSocket': Math.floor(proxied / 2),
    'scored upstream': own,
    'own model': own,
  };
  await Promise.all(
    GROUPS.map((group, i) => honestStreams(group, counts[group], new Chance(seed + i), options)),
  );
}

/** Whether the gateway is ready and has nothing to do. */
const restful = async (url: string, watch: HealthWatch): Promise<boolean> =>
  (await watch.check()) && (await metric(url, KEYS.SCRAPE_KEY, 'flinch_active_generations')) === 0;
