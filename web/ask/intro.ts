import type { Model } from '../server/page-models.js';
import { METHOD_WORDS } from '../words.js';

/** Meaning of the colours of a model's answers. */
export function introWords({ methods, method }: Pick<Model, 'methods' | 'method'>): string {
  if (methods?.length === 0) {
    return 'This model returns no log-probabilities. Its answers are shown, but not scored.';
  }
  const by = method ? ` by ${METHOD_WORDS[method].name}` : '';
  return `The colour of a token shows how uncertain the model was about it${by}. The line under a step shows the risk of the step. Text that the guard replaces stays visible, struck out.`;
}
