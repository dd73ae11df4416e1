import { segmentText } from 'flinch';
import type { Span } from '../steps/first-wrong-step.js';
import { firstWrongStep } from '../steps/first-wrong-step.js';
import { alignWords } from './judged-claims.js';
import { ACCEPTED_SIMILARITY, matchStep } from './match-step.js';

/**
 * Position of a claim in a response that it was not taken from: its words in the sentence that has most of
 * them, the first of equals (docs/design/evaluation.md, section 9); else the whole sentence that is most like
 * the claim.
 * @param words of the response, in their order; may be none
 * @returns no span where no sentence is like it
 */
export function placeClaim(claim: string, words: readonly string[], text: string): Span[] {
  const sentences = segmentText(text).map(({ start, text: sentence }) => ({
    start,
    text: sentence.trimEnd(),
  }));
  let best: Span[] = [];
  for (const { start, text: sentence } of sentences) {
    const spans = alignWords(words, sentence).map(([from, to]): Span => [start + from, start + to]);
    if (spans.length > best.length) best = spans;
  }
  const all = words.flatMap((word) => word.split(/\s+/)).filter((word) => word !== '');
  if (best.length > 0 && best.length >= ACCEPTED_SIMILARITY * all.length) return best;
  const match = matchStep(claim, text);
  if (!match) return [];
  const whole = sentences.map((sentence): Span => [sentence.start, sentence.start + sentence.text.length]);
  const source = whole[firstWrongStep(match.span, whole) ?? -1];
  return source ? [source] : [];
}
