/** Scale of risks that the page, its charts, the terminal and other front ends share. */

/** Tail at the top of the scale: one ordinary token in a thousand would be there. */
const TOP_TAIL = 1e-3;
/** Maximum rate that sets the colours: a threshold that most tokens pass does not tell conspicuous ones apart. */
const WIDEST_RATE = 0.2;

/**
 * Position of a risk on its axis, 0 to 1. Relevant risks are all near 1: each factor of ten in the share of ordinary
 * tokens beyond it takes the same room.
 */
export const riskHeight = (risk: number): number =>
  Math.log10(Math.max(1 - risk, TOP_TAIL)) / Math.log10(TOP_TAIL);

/** How strongly to colour a risk, 0 to 1: fully at the threshold, and clearly less before it. */
export const riskStrength = (risk: number, rate: number): number =>
  Math.min(1, riskHeight(risk) / riskHeight(1 - Math.min(rate, WIDEST_RATE))) ** 2;

/** How doubtful a step is; each has a line of its own. `unknown`: it was not rated. */
export type RiskLevel = 'unknown' | 'calm' | 'slight' | 'raised' | 'high' | 'flagged';

export function riskLevel(risk: number | null, flagged: boolean): RiskLevel {
  if (flagged) return 'flagged';
  if (risk === null) return 'unknown';
  if (risk >= 0.95) return 'high';
  if (risk >= 0.8) return 'raised';
  return risk >= 0.5 ? 'slight' : 'calm';
}

/** A risk in percent. Near 1 only its distance to 1 matters, and 100 % would be wrong. */
export function formatRisk(risk: number): string {
  const tail = 1 - risk;
  if (tail < 1e-4) return '> 99.99 %';
  const digits = tail < 0.001 ? 2 : tail < 0.1 ? 1 : 0;
  return `${(risk * 100).toFixed(digits)} %`;
}

const RANKED = {
  token: 'ordinary tokens',
  step: 'ordinary steps',
  answer: 'the highest steps of ordinary answers',
  whole: 'ordinary answers',
} as const;

/** Unit that the rate of a guard in force is a share of. */
export const ratedPer = (per: unknown): 'step' | 'answer' => (per === 'answer' ? per : 'step');

/** A risk in words: how it ranks among ordinary ones. @param per `whole`: of an answer as a whole */
export const rankWords = (risk: number, per: keyof typeof RANKED): string =>
  `higher than ${formatRisk(risk).replace('> ', '')} of ${RANKED[per]}`;
