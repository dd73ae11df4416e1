import type { Counter, Gauge } from 'prom-client';
import { COMMAND_FAILURES, type CommandFailure } from '../state/state.js';
import type { Definition, HistogramDefinition } from './definition.js';
import type { Families } from './families.js';
import type { Histogram, HistogramSeries } from './histogram.js';

export const REDIS_UP = {
  name: 'flinch_redis_up',
  type: 'gauge',
  help: '1 while the Redis of `state` answers, otherwise 0. Absent without `state`.',
  labels: {},
  aggregator: 'min',
} as const satisfies Definition;

export const REDIS_DURATION = {
  name: 'flinch_redis_command_duration_seconds',
  type: 'histogram',
  help: 'Seconds from sending a command to its answer. Includes commands that fail; one without an answer counts as 1 s. Excludes commands that wait for events on purpose.',
  labels: {},
  buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
} as const satisfies HistogramDefinition;

export const REDIS_FAILURES = {
  name: 'flinch_redis_command_failures_total',
  type: 'counter',
  help: 'Commands that failed: no answer within 1 s (timeout), no connection or a Redis that is known to be away (connection), or an error as answer, such as OOM (refused).',
  labels: { reason: COMMAND_FAILURES },
} as const satisfies Definition;

/** The Redis that gateways share; nothing is said of it where there is none. */
export class RedisMetrics {
  readonly #families: Families;
  readonly #up: Gauge;
  readonly #durations: Histogram;
  readonly #failures: Counter<'reason'>;
  #duration: HistogramSeries | null = null;

  constructor(families: Families) {
    this.#families = families;
    this.#up = families.gauge(REDIS_UP);
    this.#up.remove(); // without labels it would be 0 from the start
    this.#durations = families.histogram(REDIS_DURATION);
    this.#failures = families.counter(REDIS_FAILURES);
  }

  watch(up: () => boolean): void {
    this.#families.beforeRead(() => this.#up.set(up() ? 1 : 0));
    this.#duration = this.#durations.series({});
    for (const reason of COMMAND_FAILURES) this.#failures.inc({ reason }, 0);
  }

  /** @param seconds `null` for one that was not sent */
  command(seconds: number | null, failure: CommandFailure | null): void {
    if (seconds !== null) this.#duration?.observe(seconds);
    if (failure !== null) this.#failures.inc({ reason: failure });
  }
}
