import { lastBoxed, withoutThoughts } from 'flinch/internals';

/** Phrase that introduces an answer in words. */
const ANSWER_IS = /\b(?:final\s+)?answer\s+is\b\s*:?\s*/gi;
const NUMBER = /-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|-?\.\d+/g;

/**
 * The final answer of a response to a mathematical question: what the last `\boxed` holds, or else what follows the
 * last "answer is" ("The final answer is $x$. I hope it is correct."), or else the last number.
 */
export function extractMathAnswer(response: string): string | null {
  const spoken = withoutThoughts(response);
  return lastBoxed(spoken) ?? afterAnswerIs(spoken) ?? spoken.match(NUMBER)?.at(-1) ?? null;
}

/** Answer after the last "answer is": a formula, or the rest of the sentence. */
function afterAnswerIs(response: string): string | null {
  const last = [...response.matchAll(ANSWER_IS)].at(-1);
  if (!last) return null;
  const rest = response.slice(last.index + last[0].length).replace(/^[*_`]+/, '');
  const formula = /^(?:\$\$?([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\])/s.exec(rest);
  // `segmentText` is not used here: an answer ends at its full stop, even before a lower-case word or after a
  // list number.
  const sentence = rest.split(/\n|\.(?=\s|$)/, 1)[0] ?? '';
  const text = formula?.[1] ?? formula?.[2] ?? formula?.[3] ?? sentence;
  return text.replace(/[*_`.,;:!\s]+$/, '').trim() || null;
}
