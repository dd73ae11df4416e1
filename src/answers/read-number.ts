import type { AnswerKey, Reading } from './answer-kind.js';
import { CORRECTS, isDenied } from './denial.js';
import { sameNumber, type WrittenNumber } from './exact-number.js';
import type { FinalText } from './final-text.js';
import { plainText } from './plain-text.js';
import { type Quantity, quantitiesIn } from './quantities.js';
import { contentOf, overlap } from './question-words.js';
import { type Unit, unitAsked } from './units.js';

/** What follows is the result of what stands before. */
const RESULT =
  /[=≈≅]|\s(?:equals|equal to|makes|that is|i\.e\.|namely|(?:so|therefore|thus|hence)(?!\p{L}))/giu;
const BOUND =
  /(?<!\p{L})(?:more than|less than|fewer than|over|under|at least|at most|up to|almost|nearly|between|from)\s+[$€£¥]?-?$/iu;
/** A year that only says of when a number is. */
const AS_OF = /(?<!\p{L})(?:as of|in|since|by|from|of|until)\s+(?:\p{Lu}\p{L}+\s+)?$/u;

/** Sentences of the longest response that has no steps. */
const MOST_SAYING_MORE = 4;

/** Reads the number that a response ends with, and compares value and unit. */
export function readNumber({ marked, sentences }: FinalText, { question, answers }: AnswerKey): Reading {
  const keys = answers.flatMap((answer) => keyOf(answer, question));
  const context: Context = { keys, asked: quantitiesIn(plainText(question)) };
  const said = marked === null ? null : verdict(marked, context, true);
  if (said) return said;
  const verdicts = sentences.flatMap((sentence) => {
    const found = verdict(sentence, context, false);
    return found ? [{ ...found, sentence }] : [];
  });
  const [first, last] = [verdicts[0], verdicts.at(-1)];
  if (!first || !last) return { extracted: null, correct: false };
  if (last.correct === first.correct || sentences.some((sentence) => CORRECTS.test(sentence)))
    return plainly(last);
  // The first sentence answers, and others say more; or the last one does, after steps.
  if (first.correct === true && last.correct === false && sentences.length <= MOST_SAYING_MORE)
    return first.sentence === sentences[0] && overlap(question, first.sentence) >= 0.4
      ? plainly(first)
      : { extracted: last.extracted, correct: null };
  return plainly(last);
}

const plainly = ({ extracted, correct }: Reading): Reading => ({ extracted, correct });

interface Key {
  readonly quantity: Quantity;
  readonly unit: Unit | null;
}
interface Context {
  readonly keys: readonly Key[];
  /** Numbers of the question. */
  readonly asked: readonly Quantity[];
}

const keyOf = (answer: string, question: string): Key[] => {
  const quantity = quantitiesIn(plainText(answer))[0];
  return quantity ? [{ quantity, unit: quantity.unit ?? unitAsked(question) }] : [];
};

/** What one passage says; `null` without a number. */
function verdict(text: string, { keys, asked }: Context, isMarked: boolean): Reading | null {
  const commas = keys.some(({ quantity: { text: key } }) => /\d,\d/.test(key) && !/,\d{3}(?!\d)/.test(key));
  const all = quantitiesIn(text, commas).filter((one) => !isDenied(text, one.start, one.end));
  const said = narrowed(text, all, { keys, asked });
  const [first] = said;
  if (!first)
    return quantitiesIn(text, commas).length > 0 && !isMarked ? { extracted: null, correct: false } : null;
  const isAsked = (one: Quantity): boolean => asked.some(({ value }) => sameNumber(one.value, value, 0));
  // A sentence that only repeats the question's numbers does not answer.
  if (!isMarked && said.every(isAsked) && said.every((one) => compared(one, keys) === false)) return null;
  const verdicts = said.map((one) => compared(one, keys));
  const isOpen =
    said.some((one) => BOUND.test(text.slice(0, one.start))) || /\d\s+or\s+/.test(text.slice(first.start));
  const isOne = verdicts.every((each) => each === verdicts[0]) && (verdicts[0] === false || sameAll(said));
  if (isMarked && !isOpen && verdicts[0] === true) return { extracted: first.text, correct: true };
  if (isOne && !(isOpen && verdicts[0])) return { extracted: first.text, correct: verdicts[0]! };
  return { extracted: first.text, correct: verdicts.some((each) => each !== false) ? null : false };
}

/** Signs of a formula that is no number. */
const FORMULA = /[\p{L})\d]\s*[\^+*]|\\|[<>≤≥]/u;
/** Words beside a year that say something else. */
const MOST_BESIDE_YEAR = 1;

/**
 * The number that a passage comes to, without its unit.
 * @returns `null` if it names several, `undefined` if it is not about a number
 */
export function numberSaid(text: string): string | null | undefined {
  const all = quantitiesIn(text).filter((one) => !isDenied(text, one.start, one.end));
  const [first, ...more] = narrowed(text, all, { keys: [], asked: [] });
  if (!first) return undefined;
  if (FORMULA.test(text.slice(first.end)) || (!/[=≈]/.test(text) && FORMULA.test(text))) return undefined;
  if (more.some(({ value }) => !sameNumber(value, first.value, 0)))
    return /[=≈]/.test(text) && more.length > 0 ? written(first.value) : null;
  if (
    isYearLike(first.value) &&
    AS_OF.test(text.slice(0, first.start)) &&
    contentOf(text).size > MOST_BESIDE_YEAR + 1
  )
    return undefined;
  return written(first.value);
}

function written({ numerator, denominator }: WrittenNumber): string {
  const value = Number(numerator) / Number(denominator);
  return denominator === 1n || Math.abs(value) > Number.MAX_SAFE_INTEGER
    ? String(numerator / denominator)
    : String(value);
}

const sameAll = (said: readonly Quantity[]): boolean =>
  said.every(({ value }) => sameNumber(value, said[0]!.value, 0));

/** The numbers that may be the answer: those after the last sign of equality, without those that only say of what. */
function narrowed(text: string, all: readonly Quantity[], { keys, asked }: Context): readonly Quantity[] {
  const result = [...text.matchAll(RESULT)]
    .map(({ index }) => index)
    .filter((at) => all.some(({ start }) => start > at))
    .at(-1);
  let left: readonly Quantity[] = result === undefined ? all : all.filter(({ start }) => start > result);
  const keep = (is: (one: Quantity) => boolean): void => {
    const kept = left.filter(is);
    if (kept.length > 0) left = kept;
  };
  const isYear = keys.some(({ quantity: { value } }) => isYearLike(value));
  if (!isYear) keep((one) => !(isYearLike(one.value) && AS_OF.test(text.slice(0, one.start))));
  keep((one) => !/\([^)]*$/.test(text.slice(0, one.start)));
  const isKey = (one: Quantity): boolean =>
    keys.some(({ quantity }) => sameNumber(one.value, quantity.value, 0));
  if (!asked.some(isKey)) keep((one) => !asked.some(({ value }) => sameNumber(one.value, value, 0)));
  keep((one) => !/^(?:one|first|second|third)$/i.test(one.text));
  keep((one) => keys.some(({ unit }) => unit && one.unit?.dimension === unit.dimension));
  keep((one) => keys.some(({ unit }) => unit && one.unit === unit));
  return left;
}

const isYearLike = ({ numerator, denominator, form }: WrittenNumber): boolean =>
  form === 'integer' && denominator === 1n && numerator >= 1000n && numerator <= 2100n;

const compared = (said: Quantity, keys: readonly Key[]): boolean | null => {
  const verdicts = keys.map((key) => same(said, key));
  return verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
};

function same(said: Quantity, { quantity: key, unit }: Key): boolean | null {
  const [saidUnit, keyUnit] = [said.unit, said.unit ? unit : key.unit];
  if (
    saidUnit &&
    keyUnit &&
    saidUnit.dimension !== keyUnit.dimension &&
    saidUnit.dimension !== 'ratio' &&
    keyUnit.dimension !== 'ratio'
  ) {
    const isSame = close(said, key) !== false;
    // 68 °F may be 20 °C.
    if (saidUnit.dimension.startsWith('°')) return isSame ? false : null;
    return isSame && !key.unit ? null : false;
  }
  const isConverted = saidUnit && keyUnit && saidUnit.dimension === keyUnit.dimension && saidUnit !== keyUnit;
  if (isConverted)
    return close(
      { ...said, value: times(said.value, saidUnit) },
      { ...key, value: times(key.value, keyUnit) },
    );
  const plainly = close(said, key);
  if (plainly !== false) return plainly;
  if (said.grouped && sameNumber(said.grouped, key.value, 0)) return null;
  const percent = (one: Quantity): boolean => one.unit?.dimension === 'ratio';
  if (percent(said) && !key.unit) return close({ ...said, value: times(said.value, said.unit!) }, key);
  if (percent(key) && !said.unit) return close(said, { ...key, value: times(key.value, key.unit!) });
  return false;
}

const times = (
  { numerator, denominator }: WrittenNumber,
  { factor: [above, below] }: Unit,
): WrittenNumber => ({
  numerator: numerator * above,
  denominator: denominator * below,
  form: 'fraction',
});

const decimalOf = ({ numerator, denominator }: WrittenNumber): number =>
  Number(numerator) / Number(denominator);

/**
 * Equal, or rounded to the digits of a key that is rounded itself. An answer that would round to a whole key, or has fewer
 * digits than the key, may be either.
 */
function close(said: Quantity, key: Quantity): boolean | null {
  if (sameNumber(said.value, key.value, 0)) return true;
  const [a, b] = [decimalOf(said.value), decimalOf(key.value)];
  const isWithin = (places: number): boolean => Math.abs(a - b) <= 0.5000001 * 10 ** -places;
  if (key.places !== null && isWithin(key.places)) return true;
  if (said.places !== null && said.places >= 1 && isWithin(said.places)) {
    if (key.value.form !== 'integer') return said.places >= 3 ? true : null;
  }
  return Math.abs(a - b) <= 1e-4 * Math.abs(b) && said.value.form !== 'integer' ? null : false;
}
