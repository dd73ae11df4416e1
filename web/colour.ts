import type { Method } from 'flinch-client/protocol';

/**
 * Lowest score that gets the full colour: an answer without doubtful tokens should look calm, not have its highest
 * token painted as an alarm. Adversarial at α = 1e-4: over 59 answers of the reasoner the strongest token of a right
 * one scored 0.003 (median), of a wrong one 0.02. NLL and entropy in nats (0.7 is one fair coin); margin runs from 0
 * to 2. The other methods were not measured.
 */
const FLOORS: Readonly<Partial<Record<Method, number>>> = {
  adversarial: 0.01,
  nll: 0.7,
  entropy: 0.7,
  margin: 0.5,
};
const LEAST_FLOOR = 1e-4;

/** The score that gets the full colour: the strongest so far in this answer, at least the method's floor. */
export const fullScale = (method: Method, strongestScore: number | null): number =>
  Math.max(FLOORS[method] ?? LEAST_FLOOR, strongestScore ?? 0);

/** How strongly to colour a score, 0 to 1. A negative score (the nudge helped) counts as 0. */
export const strength = (score: number, full: number): number =>
  full > 0 ? Math.min(1, Math.max(0, score / full)) : 0;
