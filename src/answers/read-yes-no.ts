import type { AnswerKey, Reading } from './answer-kind.js';
import type { FinalText } from './final-text.js';
import { plainText } from './plain-text.js';
import { isNegated, polaritiesIn, polarityBefore, polarityOf } from './polarity.js';
import { overlap } from './question-words.js';

/** Reads yes or no: the marked answer, or the word that the response begins or ends with, or whether it says what is asked. */
export function readYesNo(text: FinalText, { question, answers }: AnswerKey): Reading {
  const key = polarityOf(plainText(answers[0] ?? ''));
  const said = saidBy(text, question);
  if (said === null) return { extracted: null, correct: null };
  return { extracted: said ? 'yes' : 'no', correct: said === key };
}

/** `null` if it cannot be told. */
export function saidBy({ marked, sentences }: FinalText, question: string): boolean | null {
  if (marked !== null) {
    const found = polarityBefore(marked) ?? single(polaritiesIn(marked));
    if (found !== null) return found;
  }
  const [first = '', last = ''] = [sentences[0], sentences.at(-1)];
  const begun = polarityBefore(first);
  const ended = polarityBefore(last) ?? single(polaritiesIn(last));
  if (begun !== null) return ended === null || ended === begun || sentences.length === 1 ? begun : null;
  const within = sentences.flatMap(polaritiesIn);
  if (ended !== null) return ended;
  if (within.length > 0) return single(within);
  return asserted(sentences, question);
}

const single = (found: readonly boolean[]): boolean | null =>
  found.length > 0 && found.every((one) => one === found[0]) ? found[0]! : null;

const EMPHATIC =
  /^(?:indeed|of course|certainly|absolutely|definitely|never|not at all|(?:of course|certainly|absolutely|definitely) not)(?!\p{L})/iu;
const PRONOUN = /^(?:it|he|she|they|this|that)(?!\p{L})/iu;

/** A sentence that repeats the question says yes, and one that negates it says no. */
function asserted(sentences: readonly string[], question: string): boolean | null {
  if (question === '' || isNegated(question)) return null;
  const [only = '', ...more] = sentences;
  if (more.length === 0 && EMPHATIC.test(only)) return !isNegated(only);
  const told = sentences
    .filter((sentence) => overlap(question, sentence) >= (PRONOUN.test(sentence) ? 0.5 : 0.75))
    .map((one) => !isNegated(one));
  return single(told);
}
