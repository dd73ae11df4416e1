import { datesIn } from './dates.js';
import { CORRECTS } from './denial.js';
import { finalText } from './final-text.js';
import { folded, words } from './plain-text.js';
import { polarityBefore } from './polarity.js';
import { contentOf } from './question-words.js';
import { numberSaid } from './read-number.js';
import { saidBy } from './read-yes-no.js';

/** Sentences without a number or a mark, and words of one, beyond which answers are not compared. */
const MOST_SENTENCES = 3;
const MOST_WORDS = 8;
const LETTER = /^[([]?([A-Za-z])[)\].:]*$/;
/** "The capital is Bern", "Bern is the capital". */
const NAMED_LAST =
  /^(?:the|its|his|her|their|it|this|that|he|she|they|a|an)(?!\p{L})[^.]*?(?<!\p{L})(?:is|are|was|were)\s+(?:the\s+|a\s+|an\s+)?(.+)$/iu;
const NAMED_FIRST = /^(.+?)\s+(?:is|are|was|were)\s+(?:the|a|an|its|his|her|their)\s/iu;

/**
 * What a text says in the end, in a form that is equal for texts that say the same: yes or no, a date, a number, a letter, or a
 * few words. Units and how things are written play no part. `null` for what cannot be compared, as an essay.
 *
 * @example
 * finalAnswer('Yes, 91 is prime.'); // 'yes'
 * finalAnswer('So it is \\boxed{1{,}250.00} dollars.'); // '1250'
 */
export function finalAnswer(text: string): string | null {
  const { marked, sentences } = finalText(text);
  if (marked !== null)
    return formOf(marked) ?? (folded(marked).replace(/\s+/g, '').slice(0, MOST_MARKED) || null);
  const [first] = sentences;
  if (first === undefined) return null;
  if (polarityBefore(first) !== null || sentences.some((sentence) => polarityBefore(sentence) !== null)) {
    const said = saidBy({ marked, sentences }, '');
    return said === null ? null : said ? 'yes' : 'no';
  }
  const counted = sentences.findLast((sentence) => /\d/.test(sentence) || CORRECTS.test(sentence));
  if (counted !== undefined && sentences.length > 1) return formOf(counted) ?? null;
  return sentences.length <= MOST_SENTENCES ? formOf(first) : null;
}

/** Characters of a marked answer that is compared as it is written. */
const MOST_MARKED = 200;

/** The form of one passage; `null` if it says several things. */
function formOf(passage: string): string | null {
  const begun = polarityBefore(passage);
  if (begun !== null) return begun ? 'yes' : 'no';
  const letter = LETTER.exec(passage.trim())?.[1];
  if (letter !== undefined) return letter.toUpperCase();
  const dates = datesIn(passage);
  if (dates.length > 0) {
    const said = new Set(
      dates.map(({ year, month, day }) => [year, month, day].map((part) => part ?? '?').join('-')),
    );
    return said.size === 1 ? [...said][0]! : null;
  }
  const number = numberSaid(passage);
  if (number !== undefined) return number;
  if (/[\^+*=\\<>_]/.test(passage)) return null;
  const named = NAMED_LAST.exec(passage)?.[1] ?? NAMED_FIRST.exec(passage)?.[1] ?? passage;
  const content = words(named)
    .split(' ')
    .filter((word) => contentOf(word).size > 0);
  return content.length > 0 && content.length <= MOST_WORDS ? content.join(' ') : null;
}
