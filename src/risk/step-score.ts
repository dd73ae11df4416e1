/** A token with its score. */
export interface ScoredText {
  readonly text: string;
  readonly score: number;
}

const NUMBER_OR_SIGN = /[\p{N}\p{Sm}*/^%-]/u;
const CAPITAL = /^\s*\p{Lu}/u;
/** Where a capital letter begins a sentence, a line or a heading. */
const BEGINNING = /(?:^|[\n.!?:*#"“(])\s*$/;

/**
 * What a token states: a number or a mathematical sign, or a word that begins with a capital letter inside of a sentence,
 * mostly a name.
 * @param before text of the token before it
 */
export function contentOf(text: string, before: string): 'number' | 'name' | null {
  if (NUMBER_OR_SIGN.test(text)) return 'number';
  return CAPITAL.test(text) && !BEGINNING.test(before) ? 'name' : null;
}

/** How often a name counts, and a number; numbers of a step that calculates count more. */
const WEIGHTS = { name: 2, number: 2 } as const;
const CALCULATING = { name: 2, number: 4 } as const;
/** A model wavers at the beginning about how to begin. */
const PLACE_POWER = 1 / 4;

/** Σ w · score and Σ w, with w = 2 for tokens that state something ({@link contentOf}), else 1. */
export function weigh(
  tokens: readonly ScoredText[],
  weights: Readonly<Record<'name' | 'number', number>> = WEIGHTS,
): { readonly sum: number; readonly weight: number } {
  let [sum, weight] = [0, 0];
  for (const [i, { text, score }] of tokens.entries()) {
    const content = contentOf(text, tokens[i - 1]?.text ?? '');
    const own = content ? weights[content] : 1;
    sum += own * score;
    weight += own;
  }
  return { sum, weight };
}

/**
 * The score of a step: (step + 1)^¼ · Σ w · score of its tokens, as {@link weigh}, but with w = 4 for numbers and signs of a
 * step with an equals sign (docs/results/detector.md); −∞ for a step without a score.
 * @param tokens those that have a score
 * @param step its number in the answer, from 0
 */
export function stepScore(tokens: readonly ScoredText[], step: number): number {
  if (tokens.length === 0) return Number.NEGATIVE_INFINITY;
  const calculates = tokens.some(({ text }) => text.includes('='));
  return (step + 1) ** PLACE_POWER * weigh(tokens, calculates ? CALCULATING : WEIGHTS).sum;
}
