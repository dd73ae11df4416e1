import {
  type Answer,
  answerText,
  type Flag,
  type Rollback,
  rankWords,
  ratedPer,
  riskStrength,
  type Step,
  type Token,
} from 'flinch-client';
import { DEFAULT_METHODS, type Method } from 'flinch-client/protocol';
import { fullScale, strength } from './colour.js';
import type { MarkedRange } from './markdown.js';

/** Queries of the page on an answer. */

export const scoreOf = (token: Token, method: Method): number | null => token.scores?.[method] ?? null;

export const riskOf = (token: Token, method: Method): number | null => token.risk[method] ?? null;

/**
 * `skipped`: the schedule left the score out, as the model was sure. `lag`: it was left out as scoring was behind.
 * `missing`: it has not come, or never will.
 */
export function scoreState(token: Token, method: Method): 'scored' | 'skipped' | 'lag' | 'missing' {
  if (scoreOf(token, method) !== null) return 'scored';
  if (!token.skipped.includes(method)) return 'missing';
  return token.reason ?? 'skipped';
}

/** Tokens whose score is missing: the lag while the answer is written, missing for good once it is over. */
export const unscoredTokens = (answer: Answer, method: Method): number => countIn(answer, method, 'missing');

/** Tokens without a score as scoring was behind. */
export const lagTokens = (answer: Answer, method: Method): number => countIn(answer, method, 'lag');

export const skippedTokens = (answer: Answer, method: Method): number => countIn(answer, method, 'skipped');

const countIn = ({ tokens }: Answer, method: Method, state: ReturnType<typeof scoreState>): number =>
  tokens.reduce((count, token) => count + (scoreState(token, method) === state ? 1 : 0), 0);

/** The token with the highest score so far. */
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

/** The methods that this answer has scores of; before it has begun, those that are usual. */
export const methodsOf = ({ guard }: Answer): readonly Method[] => guard?.methods ?? DEFAULT_METHODS;

/** How strongly each token is coloured, 0 to 1: by its risk where that is known, else by its score. */
export interface Scale {
  readonly by: 'risk' | 'score';
  /** The score, or the risk, of the full colour. */
  readonly full: number;
  readonly of: (token: Token) => number;
}

export function scaleOf(answer: Answer, method: Method): Scale {
  const rate = answer.guard?.rate ?? 0;
  if (rate > 0 && answer.tokens.some((token) => riskOf(token, method) !== null)) {
    const of = (token: Token): number => riskStrength(riskOf(token, method) ?? 0, rate);
    return { by: 'risk', full: 1 - rate, of };
  }
  const full = fullScale(method, strongest(answer, method)?.score ?? null);
  return { by: 'score', full, of: (token) => strength(scoreOf(token, method) ?? 0, full) };
}

/** The step that a token is of, once that is known; a flagged one before it is settled. */
export function stepAt({ steps, flags }: Answer, index: number): Step | (Flag & { flagged: true }) | null {
  const holds = ({ from, to }: { from: number; to: number }) => index >= from && index < to;
  const settled = steps.find(holds);
  if (settled) return settled;
  const flag = flags.findLast(holds);
  return flag && flag.step >= steps.length ? { ...flag, flagged: true } : null;
}

/** Ranges of flagged steps in the text of the answer, in characters; steps of other parts have no text there. */
export function flaggedRanges(answer: Answer): readonly MarkedRange[] {
  const { tokens, steps, flags, guard } = answer;
  const open = flags.findLast(({ step }) => step >= steps.length);
  const flagged = [...steps.filter(({ flagged }) => flagged), ...(open ? [open] : [])];
  const textUpTo = (index: number): number => answerText({ tokens: tokens.slice(0, index) }).length;
  return flagged.map(({ from, to, risk }) => {
    const rank = risk === null ? '' : `: ${rankWords(risk, ratedPer(guard?.per))}`;
    return { from: textUpTo(from), to: textUpTo(to), title: `Flagged step${rank}` };
  });
}

/** The rollback that a token came out of. */
export const rollbackAt = ({ rollbacks }: Answer, index: number): Rollback | null =>
  rollbacks.find(({ from, to }) => index >= from && index < to) ?? null;
