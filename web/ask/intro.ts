import type { Model } from '../server/page-models.js';

/** Meaning of the colours of a model's answers. */
export function introWords({ methods }: Pick<Model, 'methods'>): string {
  if (methods?.length === 0) {
    return 'This model returns no log-probabilities. Its answers are shown, but not scored.';
  }
  return 'The colour of a word shows how unsure the model was of it, the line under a step how unusual the step is. Text that the guard replaces stays visible, struck out.';
}
