import { type Machine, table } from '#bench/markdown-table.js';
import { type Estimate, formatEstimate } from '#bench/statistics/estimate.js';
import { formatBytes, heading } from '#cli/format.js';
import { GROUPS, isHarm, WHOLE } from './honest.js';
import { trend } from './trend.js';
import type { Health, Sample } from './watch.js';

type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface FaultsReport {
  readonly machine: Machine;
  readonly settings: {
    readonly seed: number;
    readonly minutes: number;
    readonly warmUp: number;
    readonly streams: number;
    readonly hostile: number;
    readonly every: number;
  };
  /** Ends of the honest streams, by group; the faults are the whole run's. */
  readonly honest: Counts;
  readonly faults: Readonly<Record<string, number>>;
  readonly hostile: Counts;
  readonly health: Health;
  /** The longest time in which an honest proxied stream brought nothing, milliseconds; tokens are 500 apart. */
  readonly silenceMs: number;
  /** Greatest delay of the clients' own event loop: their part in such a silence. */
  readonly clientsLateMs: number;
  readonly logLinesDropped: number;
  /** Samples without any client: before the load, and after it. */
  readonly rest: { readonly before: Sample; readonly after: Sample };
  /** Seconds from the end of the last stream until the gateway was ready and nothing was under way; `null` if never. */
  readonly recoveredAfter: number | null;
  /** Events that should not have happened, with the second of the run; expected to be empty. */
  readonly harm: readonly string[];
  readonly samples: readonly Sample[];
}

const MEGABYTE = 1e6;
const VALUES = [
  ['heap and buffers of the gateway, MB', (sample: Sample) => sample.heap / MEGABYTE],
  ['private memory of the gateway, MB', (sample: Sample) => sample.private / MEGABYTE],
  ['private memory of its processes, MB', (sample: Sample) => sample.children / MEGABYTE],
  ['descriptors', (sample: Sample) => sample.descriptors],
  ['processes', (sample: Sample) => sample.processes],
] as const;

/** Trend of a number, over the samples after the warm-up. */
export const growthOf = ({ samples, settings }: FaultsReport, of: (sample: Sample) => number): Estimate =>
  trend(
    samples
      .filter(({ seconds }) => seconds >= 60 * settings.warmUp)
      .map((sample) => ({ seconds: sample.seconds, value: of(sample) })),
  );

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([what, count]) => `${count} × ${what}`)
    .join(', ');

export function format(report: FaultsReport): string {
  const { settings, honest, faults, hostile, health, rest, samples, harm } = report;
  const streams = GROUPS.map((group) => {
    const counts = honest[group] ?? {};
    const ended = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const whole = counts[WHOLE] ?? 0;
    const harmed = Object.entries(counts).flatMap(([what, count]) => (isHarm(group, what) ? count : []));
    const bad = harmed.reduce((sum, count) => sum + count, 0);
    const documented = Object.entries(counts).filter(([what]) => what !== WHOLE && !isHarm(group, what));
    const errors = listed(Object.fromEntries(documented)) || '0';
    return [group, `${ended}`, `${whole}`, errors, `${bad}`];
  });
  const values = VALUES.map(([name, of]) => [
    name,
    of(rest.before).toFixed(1),
    of(rest.after).toFixed(1),
    Math.max(...samples.map(of)).toFixed(1),
    formatEstimate(growthOf(report, of), 1),
  ]);
  const misuses = Object.entries(hostile).map(([what, counts]) => [what, listed(counts)]);
  const worst = Math.max(...samples.map(({ loopMax }) => loopMax));
  return [
    heading(
      `${settings.streams} honest streams at once for ${settings.minutes} minutes, with faults (seed ${settings.seed})`,
    ),
    '',
    table(['honest streams', 'ended', 'whole', 'with a documented error', 'harmed'], streams),
    '',
    table(['at the gateway', 'at rest before', 'at rest after', 'most', 'slope an hour'], values),
    '',
    `faults: ${listed(faults)}; ${report.logLinesDropped} log lines dropped`,
    `health: ${health.checks} checks, /livez failed ${health.dead} times, /readyz was not 200 ${health.notReady} times, slowest ${health.slowestMs.toFixed(0)} ms; ready and idle ${report.recoveredAfter?.toFixed(0) ?? 'not'} s after the end`,
    `longest silence of a proxied stream: ${(report.silenceMs / 1000).toFixed(1)} s; event loop late by ${worst.toFixed(0)} ms at most, the clients' own by ${report.clientsLateMs.toFixed(0)} ms; gateway: ${formatBytes(rest.after.private)} at the end`,
    '',
    table(['misuse', 'what came of it'], misuses),
    ...(harm.length > 0 ? ['', heading('What should not have happened'), ...harm] : []),
  ].join('\n');
}
