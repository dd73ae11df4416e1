import type { Counter, Gauge } from 'prom-client';
import type { ServerStatus } from '../../src/engine/server/score-servers.js';
import { type Definition, MODEL } from './definition.js';
import type { Families } from './families.js';

const LABELS = { model: MODEL, address: 'an address of `scorer_url`' } as const;
type Label = keyof typeof LABELS;

export const SERVER_UP = {
  name: 'flinch_scorer_server_up',
  type: 'gauge',
  help: '1 while the inference server is asked for score passes, otherwise 0: it failed three times in a row, or the check at the start.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

export const SERVER_SEQUENCES = {
  name: 'flinch_scorer_server_sequences',
  type: 'gauge',
  help: 'Sequences whose keys and values the inference server holds for this gateway.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

export const SERVER_RUNS = {
  name: 'flinch_scorer_server_runs_total',
  type: 'counter',
  help: 'Requests for a run of a model, by the inference server that was asked. Includes failures, and the last request of each sequence, which ends it.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

export const SERVER_FAILURES = {
  name: 'flinch_scorer_server_failures_total',
  type: 'counter',
  help: 'Runs without a usable answer: connection, time limit, status, or wrong content. Each is tried once more, which may succeed.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

export const SERVER_SECONDS = {
  name: 'flinch_scorer_server_run_seconds_total',
  type: 'counter',
  help: 'Sum of the seconds from the request of each run to its answer or failure, including transfer and waiting at the server.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

export const SEQUENCES_LOST = {
  name: 'flinch_scorer_server_sequences_lost_total',
  type: 'counter',
  help: 'Sequences that the inference server failed or did not hold any more. Their text was sent again from its beginning.',
  labels: LABELS,
  aggregator: 'max',
} as const satisfies Definition;

/** The inference servers that score for a model; each worker has the values of the one process that uses them. */
export class ScorerServerMetrics {
  readonly #up: Gauge<Label>;
  readonly #sequences: Gauge<Label>;
  readonly #counters: readonly { readonly counter: Counter<Label>; readonly field: CountedField }[];
  readonly #counted = new Map<string, number>();

  constructor(families: Families) {
    this.#up = families.gauge(SERVER_UP);
    this.#sequences = families.gauge(SERVER_SEQUENCES);
    this.#counters = COUNTED.map(([field, definition]) => ({ field, counter: families.counter(definition) }));
  }

  read(model: string, servers: readonly ServerStatus[]): void {
    for (const status of servers) {
      const labels = { model, address: status.address };
      this.#up.set(labels, status.up ? 1 : 0);
      this.#sequences.set(labels, status.sequences);
      for (const { counter, field } of this.#counters) {
        const key = JSON.stringify([model, status.address, field]);
        const before = this.#counted.get(key) ?? 0;
        // A score process that began again counts from 0.
        counter.inc(labels, status[field] < before ? status[field] : status[field] - before);
        this.#counted.set(key, status[field]);
      }
    }
  }
}

type CountedField = 'runs' | 'failures' | 'seconds' | 'lostSequences';

const COUNTED: readonly (readonly [CountedField, Definition<Label>])[] = [
  ['runs', SERVER_RUNS],
  ['failures', SERVER_FAILURES],
  ['seconds', SERVER_SECONDS],
  ['lostSequences', SEQUENCES_LOST],
];
