import type { Encoders, TextPair } from '../../encoder/encoders.js';
import { lexicalSimilarity } from '../../uncertainty/lexical.js';
import { SIMILARITY_OF_ONE, tokenSar, withoutEach } from '../../uncertainty/token-sar.js';
import type { MeasureScores, TokenSpan } from './measure.js';

interface Text {
  readonly question: string;
  readonly tokenTexts: readonly string[];
  readonly steps: readonly TokenSpan[];
}

/**
 * TokenSAR of a response and of its steps (EVALUATION.md section 5). In scope `step` a token is judged by what its step
 * loses without it: the score of a step weighs its tokens among themselves, that of the response weighs all tokens by
 * the same relevance. In scope `response` it is judged by what the whole response loses, and a step's score is its
 * tokens' share in that of the response.
 * @param compare texts of a pair; the lexical substitute where it is `null`
 */
export async function tokenSarScores(
  text: Text,
  logprobs: readonly number[],
  scope: 'step' | 'response',
  compare: Encoders['compare'],
): Promise<MeasureScores> {
  const { tokenTexts, steps } = text;
  const sequences: readonly TokenSpan[] = scope === 'step' ? steps : [[0, tokenTexts.length]];
  const similarities = await similaritiesOf(text, sequences, compare);
  const whole = tokenSar(logprobs, similarities);
  const ofStep = (range: TokenSpan): number =>
    scope === 'step'
      ? tokenSar(logprobs.slice(...range), similarities.slice(...range)).sum
      : whole.tokens.slice(...range).reduce((sum, value) => sum + value, 0);
  return { tokens: whole.tokens, steps: steps.map(ofStep), response: whole.sum };
}

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
