import type { Counter, Gauge } from 'prom-client';
import type { WatchedUpstream } from '../models/served-model.js';
import { UPSTREAM_ERROR_CODES, type UpstreamErrorCode } from '../upstream/errors.js';
import { type Definition, MODEL } from './definition.js';
import type { Families } from './families.js';

export const UPSTREAM_ERRORS = {
  name: 'flinch_upstream_errors_total',
  type: 'counter',
  help: "Faults of a model's servers, by the code that a client would see. Includes faults hidden by a retry.",
  labels: { model: MODEL, kind: UPSTREAM_ERROR_CODES },
} as const satisfies Definition;

export const UPSTREAM_UP = {
  name: 'flinch_upstream_up',
  type: 'gauge',
  help: "1 if at least one of the model's servers has answered and has been available since, otherwise 0. When this metric or the readiness is read, servers that were not heard from for 30 s are asked for their list of models.",
  labels: { model: MODEL },
  aggregator: 'max',
} as const satisfies Definition;

export const SCORER_MISMATCHES = {
  name: 'flinch_scorer_mismatches_total',
  type: 'counter',
  help: "Responses whose scorer disagreed with the server's log-probabilities; its weights are probably different.",
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
      look(); // otherwise metrics would never show a server go, or come back, without requests
    });
  }

  failed(model: string, kind: UpstreamErrorCode): void {
    this.#errors.inc({ model, kind });
  }

  scorerMismatch(model: string): void {
    this.#mismatches.inc({ model });
  }
}
