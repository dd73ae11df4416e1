import type { AnswerKey, Reading } from './answer-kind.js';
import { CORRECTS, clausesOf } from './denial.js';
import type { FinalText } from './final-text.js';
import { affirms, mentionsOf } from './mentions.js';
import { folded, plainText, words } from './plain-text.js';
import { overlap } from './question-words.js';

const ASKS_FOR_A_PERSON =
  /(?<!\p{L})(?:who|whose|author|inventor|painter|composer|president|discovered)(?!\p{L})/iu;
const TITLE = /^(?:prof|dr|mr|mrs|ms|sir|lord|it|the|by|was|is|a|of|and|president)\.?$/i;

/** "Not Zürich but Bern". */
const IN_CONTRAST = /(?<!\p{L})not\s[^.;]{1,60}?,?\s+but\s+(?:rather\s+)?(?:the\s+)?$/u;

/** Reads whether a response names the answer, and does not deny it. */
export function readName(text: FinalText, { question, answers }: AnswerKey): Reading {
  const verdicts = answers.map((answer) => verdict(text, plainText(answer).trim(), question));
  const correct = verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
  const named = answers[verdicts.indexOf(correct)];
  return { extracted: (correct ? named : (text.marked ?? text.sentences.at(-1))) ?? null, correct };
}

/** Whether it is the answer; `null` if it cannot be told. */
export function verdict({ marked, sentences }: FinalText, name: string, question: string): boolean | null {
  if (marked !== null) {
    const said = inSentence(marked, name, question);
    if (said !== undefined) return said;
    if (words(marked) !== '') return like(marked, name, question);
  }
  const last = sentences.findLastIndex((sentence) => CORRECTS.test(sentence));
  const counted = last > 0 ? sentences.slice(last) : sentences;
  const verdicts = counted.map((sentence) => inSentence(sentence, name, question));
  const said = verdicts.filter((each) => each !== undefined);
  if (said.length === 0) {
    // A line may end within a name.
    const joined = counted.join(' ');
    return inSentence(joined, name, question) ?? like(joined, name, question);
  }
  if (said.every((each) => each === false)) return false;
  if (said.includes(null) && !said.includes(true)) return null;
  // Another sentence may answer with another name.
  const own = Math.max(...counted.map((sentence, i) => (verdicts[i] ? overlap(question, sentence) : 0)));
  const others = counted.map((sentence, i) => (verdicts[i] ? 0 : overlap(question, sentence)));
  if (verdicts[0] || verdicts.at(-1)) return Math.max(0, ...others) > own + 0.2 ? null : true;
  return own > Math.max(0, ...others) ? true : null;
}

/** What one sentence says of a name; `undefined` if it does not name it. */
function inSentence(sentence: string, name: string, question: string): boolean | null | undefined {
  const mentions = mentionsOf(name, sentence);
  if (mentions.length === 0) return undefined;
  const affirmed = mentions.filter(({ denied }) => !denied);
  if (affirmed.length === 0) return false;
  const whole = folded(sentence);
  if (isOneOfSeveral(sentence, affirmed)) return null;
  if (
    /(?:followed by|rather than|whose|,\s+wh(?:o|ere)\s)[^,]*$/u.test(whole.slice(0, affirmed[0]!.start)) &&
    !affirms(name, question)
  )
    return null;
  if (affirmed.some(({ start }) => IN_CONTRAST.test(whole.slice(0, start)))) return true;
  const clauses = clausesOf(sentence);
  const own = clauses.findIndex((clause) => affirms(name, clause));
  if (clauses.length < 2 || own < 0) return true;
  const overlaps = clauses.map((clause) => overlap(question, clause));
  const other = Math.max(...overlaps.filter((_, i) => i !== own));
  if (overlaps[own]! > other) return true;
  if (overlaps[own]! < other) return false;
  return own === 0 && !/(?<!\p{L})but(?!\p{L})/iu.test(sentence) ? true : null;
}

/** "Bern or Geneva". */
const isOneOfSeveral = (
  sentence: string,
  mentions: readonly { readonly start: number; readonly end: number }[],
): boolean =>
  mentions.every(
    ({ start, end }) =>
      /^[^.;]{0,40}(?<!\p{L})or\s+\p{Lu}/u.test(sentence.slice(end)) ||
      /\p{Lu}[^.;]{0,40}\s+or\s+$/u.test(sentence.slice(0, start)),
  );

/** Of a text that does not have the whole name: a person by the last name, a name that is misspelled. */
function like(text: string, name: string, question: string): boolean | null {
  const parts = words(name).split(' ');
  const said = new Set(words(text).split(' '));
  const own = name.split(/\s+/);
  // "Einstein, Albert"; NYC.
  if (own.length > 1 && affirms([own.at(-1), ...own.slice(0, -1)].join(' '), text)) return true;
  if (parts.length > 1 && parts.every((part) => said.has(part))) return null;
  const initials = own.map(([letter]) => letter).join('');
  const isShortened =
    /^\p{Lu}{2,}$/u.test(initials) && new RegExp(`(?<!\\p{L})${initials}\\p{Lu}?(?!\\p{L})`, 'u').test(text);
  if (isShortened) return null;
  const lastName = own.at(-1) ?? '';
  if (own.length > 1 && ASKS_FOR_A_PERSON.test(question)) {
    for (const { start, denied } of mentionsOf(lastName, text)) {
      const before = /([\p{L}.']+)\s+$/u.exec(folded(text).slice(0, start))?.[1] ?? '';
      const written = text.slice(0, start).trim().split(/\s+/).at(-1) ?? '';
      const isOther =
        /^\p{Lu}/u.test(written) &&
        !TITLE.test(before) &&
        !parts.some((part) => part.startsWith(before.replace('.', '')));
      if (!denied) return !isOther;
    }
  }
  if (own.length > 1 && own.some((part) => part.length > 3 && /^\p{Lu}/u.test(part) && affirms(part, text)))
    return null;
  return [...said].some((word) => parts.some((part) => isMisspelled(word, part))) ? null : false;
}

/** One letter is wrong, missing, too many, or two are swapped. */
function isMisspelled(word: string, of: string): boolean {
  if (of.length < 5 || word === of || Math.abs(word.length - of.length) > 1) return false;
  let start = 0;
  while (word[start] === of[start]) start += 1;
  let end = 0;
  while (end < Math.min(word.length, of.length) - start && word.at(-1 - end) === of.at(-1 - end)) end += 1;
  const [a, b] = [word.slice(start, word.length - end), of.slice(start, of.length - end)];
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && b === `${a[1]}${a[0]}`);
}
