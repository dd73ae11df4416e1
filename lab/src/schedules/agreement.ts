import { sampleRankCorrelation } from 'simple-statistics';

/** How alike two schedules rank the tokens of one response. */
export interface Agreement {
  /** Spearman's rank correlation over the tokens that both score; NaN where one of them tells none apart. */
  readonly spearman: number;
  /** Share of the reference's highest tokens that are among the highest here. */
  readonly top: number;
  /** Share of the reference's highest tokens that are attacked here. */
  readonly kept: number;
}

export const TOP = 5;

/** @param scores one for each token of the response, `null` where the schedule left it out; so `reference` */
export function agreement(
  scores: readonly (number | null)[],
  reference: readonly (number | null)[],
): Agreement {
  const both = scores.flatMap((score, i) => {
    const other = reference[i] ?? null;
    return score === null || other === null ? [] : [[score, other] as const];
  });
  const expected = highest(reference);
  const found = new Set(highest(scores));
  return {
    spearman: sampleRankCorrelation(
      both.map(([score]) => score),
      both.map(([, other]) => other),
    ),
    top: expected.filter((i) => found.has(i)).length / expected.length,
    kept: expected.filter((i) => (scores[i] ?? null) !== null).length / expected.length,
  };
}

/** The tokens that score highest, at most {@link TOP}. */
function highest(scores: readonly (number | null)[]): number[] {
  const scored = scores.flatMap((score, i) => (score === null ? [] : [{ score, i }]));
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, TOP)
    .map(({ i }) => i);
}
