/** A token with its score. */
export interface ScoredText {
  readonly text: string;
  readonly score: number;
}

const NUMBER_OR_SIGN = /[\p{N}\p{Sm}*/^%-]/u;
const DIGIT = /\p{N}/u;
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
const WEIGHTS: Readonly<Record<'name' | 'number', number>> = { name: 2, number: 2 };
const CALCULATING = { ...WEIGHTS, number: 4 };
/** A model wavers at the beginning about how to begin. */
const FIRST_STEP = 1 / 2;

/** A score, and how often it counts. */
export interface WeighedScore {
  readonly score: number;
  readonly weight: number;
}

/** How often the score of a token counts: twice if it states something ({@link contentOf}). */
export const weightOf = (text: string, before: string, weights = WEIGHTS): number => {
  const content = contentOf(text, before);
  return content ? weights[content] : 1;
};

/** The scores of consecutive tokens with their weights. */
export const weigh = (tokens: readonly ScoredText[], weights = WEIGHTS): WeighedScore[] =>
  tokens.map(({ text, score }, i) => ({ score, weight: weightOf(text, tokens[i - 1]?.text ?? '', weights) }));

/**
 * The score of a step: Σ w · score of its tokens, {@link weigh}ed, but with w = 4 for numbers and signs of a step with an
 * equals sign; half of it for the first step (docs/results/detector.md); −∞ for a step without a score.
 * @param tokens those that have a score
 * @param step its number in the answer, from 0
 */
export function stepScore(tokens: readonly ScoredText[], step: number): number {
  if (tokens.length === 0) return Number.NEGATIVE_INFINITY;
  const calculates = tokens.some(({ text }) => text.includes('='));
  const weighed = weigh(tokens, calculates ? CALCULATING : WEIGHTS);
  return (step === 0 ? FIRST_STEP : 1) * weighed.reduce((sum, { score, weight }) => sum + weight * score, 0);
}

/**
 * Steps are compared with ordinary ones of their kind: those with a digit, and those of words alone; answers of more steps by
 * the kind of most of these, and those of one step, `short`, with such answers. There is more to choose from in prose than
 * in a calculation, and in it than in the answer to a factual question, so a rate for all together is one for none.
 */
export const KINDS = ['numbers', 'words', 'short'] as const;
export type TextKind = (typeof KINDS)[number];

export const hasDigit = (text: string): boolean => DIGIT.test(text);

/** @param texts of all tokens of the step */
export const kindOfStep = (texts: readonly string[]): TextKind =>
  texts.some(hasDigit) ? 'numbers' : 'words';

/** @param numbers how many of its steps have a digit */
export const kindOfAnswer = (numbers: number, steps: number): TextKind => {
  if (steps === 1) return 'short';
  return 2 * numbers >= steps ? 'numbers' : 'words';
};
