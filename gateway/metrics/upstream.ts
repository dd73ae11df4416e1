import type { Counter, Gauge } from 'prom-client';
import type { WatchedUpstream } from '../models/served-model.js';
import { UPSTREAM_ERROR_CODES, type UpstreamErrorCode } from '../upstream/errors.js';
import { type Definition, MODEL } from './definition.js';
import type { Families } from './families.js';

export const UPSTREAM_ERRORS = {
  name: 'flinch_upstream_errors_total',
  type: 'counter',
  help: 'Faults of the servers of a model, by the code that a client would see; those that another try made good among them.',
  labels: { model: MODEL, kind: UPSTREAM_ERROR_CODES },
} as const satisfies Definition;

export const UPSTREAM_UP = {
  name: 'flinch_upstream_up',
  type: 'gauge',
  help: '1 where any of the servers of a model has answered and was there since, else 0. Those that were not heard of for half a minute are asked for their list of models when this is read, or the readiness.',
  labels: { model: MODEL },
} as const satisfies Definition;

export const SCORER_MISMATCHES = {
  name: 'flinch_scorer_mismatches_total',
  type: 'counter',
  help: 'Responses whose scorer disagreed with the log-probabilities of the server: its weights are likely others.',
  labels: { model: MODEL },
} as const satisfies Definition;

/** The servers that write for a model, and how well its scorer fits them. */
export class UpstreamMetrics {
  readonly #families: Families;
  readonly #errors: Counter<'model' | 'kind'>;
  readonly #up: Gauge<'model'>;
  readonly #mismatches: Counter<'model'>;

  constructor(families: Families) {
    this.#families = families;
    this.#errors = families.counter(UPSTREAM_ERRORS);
    this.#up = families.gauge(UPSTREAM_UP);
    this.#mismatches = families.counter(SCORER_MISMATCHES);
  }

  watch(model: string, { look, up }: WatchedUpstream): void {
    for (const kind of UPSTREAM_ERROR_CODES) this.#errors.inc({ model, kind }, 0);
    this.#mismatches.inc({ model }, 0);
    this.#families.beforeRead(() => {
      this.#up.set({ model }, up() ? 1 : 0);
      look(); // whoever asks for metrics alone would never see a server go, or come back
    });
  }

  failed(model: string, kind: UpstreamErrorCode): void {
    this.#errors.inc({ model, kind });
  }

  scorerMismatch(model: string): void {
    this.#mismatches.inc({ model });
  }
}
