import type { Model } from './models.js';
import { METHOD_WORDS } from './words.js';

/** Meaning of the colours of a model's answers. */
export function introWords({ methods, method }: Pick<Model, 'methods' | 'method'>): string {
  if (methods?.length === 0) {
    return 'This model returns no log-probabilities. Its answers are shown, but not scored.';
  }
  const what = method ? scoreWords(method) : UNKNOWN;
  return `${what} Pale tokens are certain, strong colours are uncertain. The line under a step shows how its score ranks among ordinary steps. Text that the guard replaces stays visible, struck out.`;
}

const UNKNOWN = 'The colour of a token shows how uncertain the model was about it.';

const scoreWords = (method: keyof typeof METHOD_WORDS): string =>
  `The colour of a token shows its ${METHOD_WORDS[method].noun}: the ${METHOD_WORDS[method].meaning}.`;
