import { innerTokens, type ResponseStep, type TokenRange } from '../steps/response-steps.js';
import { chanceToHoldTop, holdsTops, onePercent } from '../steps/token-hits.js';

/** The highest of all tokens, and of all but the first words of steps. */
export const HIT_KS = [
  'top3',
  'top5',
  'top1pct',
  'top1pctFloor',
  'top1pctRound',
  'innerTop3',
  'innerTop5',
  'innerTop1pct',
] as const;

/** Tokens of a wrong response that are ranked, and which of them its first wrong step has. */
interface Ranking {
  /** Whether each token of the response is ranked. */
  readonly ranked: readonly boolean[];
  /** Range of the first wrong step among the ranked tokens. */
  readonly wrong: TokenRange;
  readonly ks: readonly number[];
}

/** Rankings in the order of {@link HIT_KS}. */
export type TokenRankings = readonly Ranking[];

export function tokenRankings(
  tokenTexts: readonly string[],
  steps: readonly ResponseStep[],
  wrong: TokenRange,
): TokenRankings {
  const inner = innerTokens(tokenTexts, steps);
  const innerBefore = (end: number): number => inner.slice(0, end).filter(Boolean).length;
  const { ceil, floor, round } = onePercent(tokenTexts.length);
  return [
    { ranked: tokenTexts.map(() => true), wrong, ks: [3, 5, ceil, floor, round] },
    {
      ranked: inner,
      wrong: { start: innerBefore(wrong.start), end: innerBefore(wrong.end) },
      ks: [3, 5, onePercent(innerBefore(inner.length)).ceil],
    },
  ];
}

/** @param scores of all tokens of the response */
export const hitsOf = (rankings: TokenRankings, scores: readonly (number | null)[]): boolean[] =>
  rankings.flatMap(({ ranked, wrong, ks }) =>
    holdsTops(
      scores.filter((_, i) => ranked[i]),
      wrong,
      ks,
    ),
  );

/** k of the steps' first tokens are drawn at random: how likely one of them is the first wrong step's. */
export const firstChancesOf = ([all, inner]: TokenRankings, steps: number): number[] => [
  ...all!.ks.map((k) => Math.min(1, k / steps)),
  ...inner!.ks.map(() => Number.NaN),
];

export const chancesOf = (rankings: TokenRankings): number[] =>
  rankings.flatMap(({ ranked, wrong, ks }) => {
    const tokens = ranked.filter(Boolean).length;
    return ks.map((k) => chanceToHoldTop(tokens, wrong.end - wrong.start, k));
  });
