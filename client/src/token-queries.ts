import type { Answer, Flag, Step, Token } from './answer.js';
import type { Method } from './protocol-events.js';
import { riskStrength } from './risk-scale.js';

/** Queries on an answer, for front ends that draw it. */

/** What is known of a token's score by one method. */
export type ScoreState =
  | 'scored'
  /** Left out as scoring was behind. */
  | 'lag'
  /** It follows other scores of the token. */
  | 'pending'
  /** It has not come, or never will. */
  | 'missing';

export function scoreState({ scores, skipped, pending }: Token, method: Method): ScoreState {
  if ((scores?.[method] ?? null) !== null) return 'scored';
  if (pending.includes(method)) return 'pending';
  return skipped.includes(method) ? 'lag' : 'missing';
}

/** A step that is known of a token; a flagged one before it is settled. */
export type TokenStep = Step | (Flag & { readonly flagged: true });

/** The step of each token, by its index; `null` while it is not known. */
export function stepsOfTokens({ tokens, steps, flags }: Answer): readonly (TokenStep | null)[] {
  const of = new Array<TokenStep | null>(tokens.length).fill(null);
  const open = flags.findLast(({ step }) => step >= steps.length);
  if (open) of.fill({ ...open, flagged: true }, open.from, open.to);
  for (const step of steps) of.fill(step, step.from, step.to);
  return of;
}

/**
 * The lowest score that gets the full colour where no risk is known: an answer without doubtful tokens should look
 * calm, not have its highest token painted as an alarm. `adversarial` at α = 1e-4: over 59 answers of the embedded
 * model the strongest token of a right one scored 0.003 (median), of a wrong one 0.02. NLL and entropy in nats (0.7 is
 * one fair coin); margin runs from 0 to 2. The other methods were not measured.
 */
const FLOORS: Readonly<Partial<Record<Method, number>>> = {
  adversarial: 0.01,
  nll: 0.7,
  entropy: 0.7,
  margin: 0.5,
};
const LEAST_FLOOR = 1e-4;

/** How strongly each token is to be coloured. */
export interface Heat {
  /**
   * `risk` with a calibration whose risks begin with the first score. A running estimate has risks from some token on:
   * a colour must not change its meaning there.
   */
  readonly by: 'risk' | 'score';
  /** The risk or the score of the full colour. */
  readonly full: number;
  /** 0 to 1; 0 where nothing is known. */
  readonly of: (token: Token) => number;
}

export function heatOf({ tokens, guard }: Pick<Answer, 'tokens' | 'guard'>, method: Method): Heat {
  const rate = guard?.rate ?? 0;
  const full = fullScore(tokens, method);
  const first = tokens.find((token) => scoreState(token, method) === 'scored');
  const ranked = rate > 0 && guard?.calibrated !== false && (first?.risk[method] ?? null) !== null;
  return {
    by: ranked ? 'risk' : 'score',
    full: ranked ? 1 - rate : full,
    of: ({ risk, scores }) => {
      const rank = ranked ? (risk[method] ?? null) : null;
      if (rank !== null) return riskStrength(rank, rate);
      // A negative score (the perturbation helped) counts as 0.
      return Math.min(1, Math.max(0, (scores?.[method] ?? 0) / full));
    },
  };
}

/** The score of the full colour: the highest in this answer, at least the method's floor. */
export const fullScore = (tokens: readonly Token[], method: Method): number =>
  tokens.reduce((most, { scores }) => Math.max(most, scores?.[method] ?? 0), FLOORS[method] ?? LEAST_FLOOR);
