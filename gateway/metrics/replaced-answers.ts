import type { Counter } from 'prom-client';
import { type Definition, MODEL } from './definition.js';
import type { Families } from './families.js';

export const ESCALATIONS = {
  name: 'flinch_escalations_total',
  type: 'counter',
  help: "Flagged answers of a model for which another one was asked: it `answered`, or `failed`, and the flagged answer stayed. Tokens of both are in the models' own metrics.",
  labels: { model: MODEL, outcome: ['answered', 'failed'] },
} as const satisfies Definition;

export const VOTES = {
  name: 'flinch_votes_total',
  type: 'counter',
  help: 'Flagged answers of a model for which further ones were drawn: another one was returned (`replaced`), or the flagged one (`kept`). Tokens of all are in `flinch_generated_tokens_total`.',
  labels: { model: MODEL, outcome: ['replaced', 'kept'] },
} as const satisfies Definition;

/** How often flagged answers made another model answer, or were put to a vote. */
export class ReplacedAnswerMetrics {
  readonly #escalations: Counter<'model' | 'outcome'>;
  readonly #votes: Counter<'model' | 'outcome'>;

  constructor(families: Families) {
    this.#escalations = families.counter(ESCALATIONS);
    this.#votes = families.counter(VOTES);
  }

  /** Shows models that name another one before that is asked. */
  watch(models: readonly string[]): void {
    for (const model of models)
      for (const outcome of ESCALATIONS.labels.outcome) this.#escalations.inc({ model, outcome }, 0);
  }

  escalated(model: string, outcome: (typeof ESCALATIONS)['labels']['outcome'][number]): void {
    this.#escalations.inc({ model, outcome });
  }

  voted(model: string, outcome: (typeof VOTES)['labels']['outcome'][number]): void {
    this.#votes.inc({ model, outcome });
  }
}
