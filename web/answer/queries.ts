import { type Answer, scoreState, stepsOfTokens, type Token, type TokenStep } from 'flinch-client';
import { DEFAULT_METHODS, type Method } from 'flinch-client/protocol';
import { ALWAYS_THERE } from '../words.js';

/** Queries of the page on an answer. */

export const scoreOf = (token: Token, method: Method): number | null => token.scores?.[method] ?? null;

export const riskOf = (token: Token, method: Method): number | null => token.risk[method] ?? null;

/** Tokens whose score is missing: the lag while the answer is written, missing for good once it is over. */
export const unscoredTokens = (answer: Answer, method: Method): number => countIn(answer, method, 'missing');

/** Tokens without a score as scoring was behind. */
export const lagTokens = (answer: Answer, method: Method): number => countIn(answer, method, 'lag');

const countIn = ({ tokens }: Answer, method: Method, state: ReturnType<typeof scoreState>): number =>
  tokens.reduce((count, token) => count + (scoreState(token, method) === state ? 1 : 0), 0);

/** The token with the highest score so far, in an answer or a part of one. */
export function strongest(
  { tokens }: Pick<Answer, 'tokens'>,
  method: Method,
): { token: Token; score: number } | null {
  let best: { token: Token; score: number } | null = null;
  for (const token of tokens) {
    const score = scoreOf(token, method);
    if (score !== null && (best === null || score > best.score)) best = { token, score };
  }
  return best;
}

/** The flagged steps of an answer as it stands. */
export const flaggedSteps = (answer: Answer): readonly TokenStep[] =>
  [...new Set(stepsOfTokens(answer))].filter((step) => step !== null).filter(({ flagged }) => flagged);

/** The methods that this answer has scores of; before it has begun, those that are usual. */
export const methodsOf = ({ guard }: Pick<Answer, 'guard'>): readonly Method[] =>
  guard?.methods ?? DEFAULT_METHODS;

/** The method that colours an answer: the one that was chosen if it has it, else the one that judges it. */
export function shownMethod(answer: Answer, chosen: Method | null): Method {
  const methods = methodsOf(answer);
  if (chosen !== null && methods.includes(chosen)) return chosen;
  return answer.guard?.method ?? methods[0] ?? ALWAYS_THERE;
}

/** Whether an answer has anything to chart. */
export const isCharted = (answer: Answer): boolean =>
  answer.tokens.length > 0 && methodsOf(answer).length > 0;
