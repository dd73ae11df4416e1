import type { StepMode } from '../../stream/step-segmenter.js';
import { TokenSteps } from '../../stream/token-steps.js';

/** Tokens of a response, from and up to but without. */
export type TokenRange = readonly [number, number];

/**
 * The steps of a response as ranges of its tokens (EVALUATION.md section 7.1): each token belongs to the step that holds
 * its first character that is not white. Together they are all of its tokens.
 *
 * @example
 * tokenSteps(['2', '+', '3', '.\n', 'So', ' 5.']); // [[0, 4], [4, 6]]
 */
export function tokenSteps(tokenTexts: readonly string[], mode: StepMode = 'sentence'): [number, number][] {
  const steps = new TokenSteps({ mode });
  const spans = [...tokenTexts.flatMap((text) => steps.push(text)), ...steps.end()];
  return spans.map(({ from, to }) => [from, to]);
}
