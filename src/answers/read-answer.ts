import type { AnswerKey, AnswerKind, Reading } from './answer-kind.js';
import { type FinalText, finalText } from './final-text.js';
import { readChoice } from './read-choice.js';
import { readDate } from './read-date.js';
import { readList } from './read-list.js';
import { readName } from './read-name.js';
import { readNumber } from './read-number.js';
import { readText } from './read-text.js';
import { readYesNo } from './read-yes-no.js';

const READERS: Readonly<Record<AnswerKind, (text: FinalText, key: AnswerKey) => Reading>> = {
  number: readNumber,
  'yes-no': readYesNo,
  choice: readChoice,
  date: readDate,
  list: readList,
  name: readName,
  text: readText,
};

/**
 * Whether the final answer of a response is a right one, read as a person does: thoughts do not count, nor how a number, a name or
 * a date is written.
 * @param kind of the key: {@link kindOf}
 * @returns `correct: null` if it cannot be told
 */
export const readAnswer = (response: string, key: AnswerKey, kind: AnswerKind): Reading => {
  const text = finalText(response);
  return text.sentences.length === 0 && text.marked === null
    ? { extracted: null, correct: false }
    : READERS[kind](text, key);
};
