import type { AnswerKey, Reading } from './answer-kind.js';
import { datesIn, sameDate, type WrittenDate } from './dates.js';
import { CORRECTS, isDenied } from './denial.js';
import type { FinalText } from './final-text.js';
import { plainText } from './plain-text.js';
import { overlap } from './question-words.js';

/** Reads the date that a response gives: unsure if it says less than the key, or may be read in two ways. */
export function readDate({ marked, sentences }: FinalText, { question, answers }: AnswerKey): Reading {
  const keys = answers.flatMap((answer) => datesIn(plainText(answer))[0] ?? []);
  const asked = datesIn(plainText(question));
  const inMark = marked === null ? null : verdict(marked, { keys, asked, question });
  if (inMark) return inMark;
  const verdicts = sentences.flatMap((sentence) => verdict(sentence, { keys, asked, question }) ?? []);
  const [first, last] = [verdicts[0], verdicts.at(-1)];
  if (!first || !last) {
    const years = keys.flatMap(({ year }) => year ?? []);
    const isYear = years.some((year) => new RegExp(`(?<!\\d)${year}(?!\\d)`).test(sentences.join(' ')));
    return { extracted: null, correct: isYear ? null : false };
  }
  if (first.correct === last.correct || sentences.some((sentence) => CORRECTS.test(sentence))) return last;
  return first.correct === true ? first : { ...last, correct: null };
}

interface Context {
  readonly keys: readonly WrittenDate[];
  readonly asked: readonly WrittenDate[];
  readonly question: string;
}

/** What one sentence says; `null` without a date. */
function verdict(text: string, { keys, asked, question }: Context): Reading | null {
  const all = datesIn(text).filter(({ start, end }) => !isDenied(text, start, end));
  const isAsked = (date: WrittenDate): boolean => asked.some((other) => sameDate(date, other) === true);
  const fresh = all.filter((date) => !isAsked(date));
  const said = fresh.length > 0 ? fresh : all;
  if (said.length === 0) return null;
  const verdictOf = (date: WrittenDate): boolean | null => {
    const verdicts = keys.map((key) => sameDate(date, key));
    return verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
  };
  const verdicts = said.map(verdictOf);
  const right = said[verdicts.indexOf(true)];
  const extracted = text.slice((right ?? said[0]!).start, (right ?? said[0]!).end);
  if (verdicts.every((each) => each === verdicts[0])) return { extracted, correct: verdicts[0]! };
  // Of several dates the one that what is asked stands before.
  const before = (date: WrittenDate): string =>
    text.slice(Math.max(0, ...said.filter(({ end }) => end <= date.start).map(({ end }) => end)), date.start);
  const isSlashed = said.some(({ swapped }) => swapped);
  if (
    right &&
    !isSlashed &&
    said.every((date) => date === right || overlap(question, before(date)) < overlap(question, before(right)))
  )
    return { extracted, correct: true };
  return { extracted, correct: verdicts.some((each) => each !== false) ? null : false };
}
