import { type Distribution, distributionOf } from '../numerics/distribution.js';
import { wilson } from '../numerics/proportion.js';

/** A token's score, −∞ where it was skipped, and its index in the response. */
export interface TokenSample {
  readonly index: number;
  readonly score: number;
}

/** Tokens `from` to `to − 1` of a response; `null` for no end. */
export interface PositionBin extends Distribution {
  readonly from: number;
  readonly to: number | null;
}

export interface TokenDistributions {
  /** Scores of the tokens that lie in none of the bins. */
  readonly tokens: Distribution;
  readonly positions: readonly PositionBin[];
}

const BINS = [
  { from: 0, to: 8 },
  { from: 8, to: 32 },
  { from: 32, to: 128 },
  { from: 128, to: null },
] as const;

/** Fewer say too little of their rarest hundredth. */
const MIN_BIN = 1000;
const WATCHED_RATE = 0.01;
const MIN_DIFFERENCE = 1 / 3;
const CONFIDENCE = 0.99;

/**
 * Token scores by position in the response, where that matters. A bin has a distribution of its own if it holds at
 * least 1000 tokens, and the share of them above the threshold that 1 % of all tokens exceed is another than 1 %: by
 * more than a third, and outside of its binomial (Wilson) interval of 99 %. The other bins share one.
 */
export function byPosition(samples: readonly TokenSample[], levels: readonly number[]): TokenDistributions {
  const scores = samples.map(({ score }) => score);
  const sorted = Float64Array.from(scores).sort();
  const threshold = sorted[Math.ceil((1 - WATCHED_RATE) * sorted.length) - 1]!;
  const exceeding = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + (value > threshold ? 1 : 0), 0);
  const pooled = exceeding(scores) / scores.length;

  const differs = (values: readonly number[]): boolean => {
    if (values.length < MIN_BIN) return false;
    const above = exceeding(values);
    const { low, high } = wilson(above, values.length, CONFIDENCE);
    const difference = Math.abs(above / values.length - pooled);
    return difference > MIN_DIFFERENCE * pooled && (pooled < low || pooled > high);
  };

  const positions: PositionBin[] = [];
  const rest: number[] = [];
  for (const bin of BINS) {
    const inside = samples.filter(({ index }) => isWithin(bin, index)).map(({ score }) => score);
    if (differs(inside)) positions.push({ ...bin, ...distributionOf(inside, levels) });
    else for (const score of inside) rest.push(score); // `...inside` may be too many arguments
  }
  return { tokens: distributionOf(rest.length < MIN_BIN ? scores : rest, levels), positions };
}

export const isWithin = ({ from, to }: Pick<PositionBin, 'from' | 'to'>, index: number): boolean =>
  index >= from && (to === null || index < to);
