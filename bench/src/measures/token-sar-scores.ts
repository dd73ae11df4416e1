import { lexicalSimilarity } from '../baselines/lexical.js';
import { SIMILARITY_OF_ONE, tokenSar, withoutEach } from '../baselines/token-sar.js';
import type { Encoders, TextPair } from '../encoder/encoders.js';
import type { MeasureScores, StepRelevance, TokenSpan } from './measure.js';

interface Text {
  readonly question: string;
  readonly tokenTexts: readonly string[];
  readonly steps: readonly TokenSpan[];
}

/**
 * TokenSAR of a response and of its steps (docs/design/evaluation.md, section 5). The score of the response is always the method's
 * own: a token counts for what the whole response loses without it. Those of the tokens are weighed as the steps are.
 * @param compare texts of a pair; the lexical substitute where it is `null`
 */
export async function tokenSarScores(
  text: Text,
  logprobs: readonly number[],
  stepRelevance: StepRelevance,
  compare: Encoders['compare'],
): Promise<MeasureScores> {
  const { tokenTexts, steps } = text;
  const all: TokenSpan = [0, tokenTexts.length];
  const alone = stepRelevance === 'alone' && steps.length > 1;
  const similarities = await similaritiesOf(text, alone ? [all, ...steps] : [all], compare);
  const whole = tokenSar(logprobs, similarities.slice(...all));
  if (!alone) {
    const share = (range: TokenSpan): number => sum(whole.tokens.slice(...range));
    return { tokens: whole.tokens, steps: steps.map(share), response: whole.sum };
  }
  const inSteps = similarities.slice(tokenTexts.length);
  return {
    tokens: tokenSar(logprobs, inSteps).tokens,
    steps: steps.map((range) => tokenSar(logprobs.slice(...range), inSteps.slice(...range)).sum),
    response: whole.sum,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** How alike each sequence is to itself without each of its tokens, behind the question; of all in one go. */
async function similaritiesOf(
  { question, tokenTexts }: Text,
  sequences: readonly TokenSpan[],
  compare: Encoders['compare'],
): Promise<number[]> {
  const pairs: TextPair[] = [];
  const entries = sequences.flatMap((range) => {
    const tokens = tokenTexts.slice(...range);
    const context = `${question} ${tokens.join('')}`;
    return withoutEach(tokens).map((rest, i) => {
      if (tokens.length === 1) return SIMILARITY_OF_ONE;
      if (tokens[i] === '') return 1; // the text without it is the text
      pairs.push([context, `${question} ${rest}`]);
      return null;
    });
  });
  const found = compare ? await compare(pairs) : pairs.map(([a, b]) => lexicalSimilarity(a, b));
  let next = 0;
  return entries.map((known) => known ?? found[next++]!);
}
