import { type AnswerKey, listItems, type Reading } from './answer-kind.js';
import type { FinalText } from './final-text.js';
import { mentionsOf } from './mentions.js';
import { folded, plainText, words } from './plain-text.js';
import { quantitiesIn } from './quantities.js';

/** Reads whether a response names all items of a list and no other, in any order. */
export function readList({ marked, sentences }: FinalText, { answers }: AnswerKey): Reading {
  const text = marked !== null && /[,;]| and /.test(marked) ? marked : sentences.join('\n');
  const verdicts = answers.map((answer) => verdict(text, listItems(plainText(answer).trim()) ?? []));
  const correct = verdicts.includes(true) ? true : verdicts.includes(null) ? null : false;
  return { extracted: text || null, correct };
}

const SEPARATOR = /\s*(?:[,;/|\n•]|(?<!\p{L})(?:and|und|et|y|or)(?!\p{L})|&)\s*/iu;
const MARKER = /^\s*(?:[-*+•]|\(?\d{1,2}[.)])\s+/gm;
/** Words that may stand between items. */
const LONGEST_BETWEEN = 3;

function verdict(text: string, items: readonly string[]): boolean | null {
  const bare = text.replace(MARKER, '').replace(/^\s*[-*+•]\s+/gm, '');
  const areNumbers = items.every((item) => quantitiesIn(item)[0]?.text === item);
  if (areNumbers) return sameNumbers(text, items);
  const mentions = items.map((item) => mentionsOf(named(item), bare).filter(({ denied }) => !denied));
  const found = mentions.filter((each) => each.length > 0).length;
  if (found < items.length) return false;
  const [from, to] = [
    Math.min(...mentions.map(([first]) => first!.start)),
    Math.max(...mentions.map(([first]) => first!.end)),
  ];
  const listed = folded(bare);
  // What else stands between the items, or goes on after them, is another item.
  const rest =
    /^(?:\s*(?:,|;|\n|\/)\s*|\s+(?:and|und|et|y)\s+|\s*&\s*)[^,.;\n]*/u.exec(listed.slice(to))?.[0] ?? '';
  const lead = /(?:^|[:\n]|\s(?:are|is)\s)([^:\n]*)$/u.exec(listed.slice(0, from))?.[1] ?? '';
  const between = listed.slice(from, to) + rest;
  const own = items.map(named);
  const others = [
    ...between.split(SEPARATOR),
    ...lead.split(SEPARATOR).slice(0, SEPARATOR.test(lead) ? -1 : 0),
  ]
    .map((part) => part.replace(/^(?:the|a|an|also|finally|of course)\s+/i, '').trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part) && !own.some((item) => mentionsOf(item, part).length > 0));
  const odd = others.filter((part) => words(part).split(' ').length <= LONGEST_BETWEEN && !FILLER.test(part));
  return odd.length === 0;
}

const FILLER =
  /^(?:of course|finally|also|then|respectively|which|in the|it|they|both|lies|not|namely|etc)(?!\p{L})/iu;
const named = (item: string): string => item.replace(/^(?:the|a|an|der|die|das|la|le|les|el)\s+(?=\S)/i, '');

/** The same numbers, whatever stands around them. */
function sameNumbers(text: string, items: readonly string[]): boolean | null {
  const numbers = (of: string): string[] =>
    quantitiesIn(of.replace(/^\s*\d+[.)]\s+(?=.*\d)/gm, '')).map(
      ({ value: { numerator, denominator } }) => `${Number(numerator) / Number(denominator)}`,
    );
  const wanted = new Set(items.flatMap(numbers));
  const lines = text.split('\n').flatMap((line) => line.split(/(?<=[.:])\s+/));
  const sets = [text, ...lines].map((line) => new Set(numbers(line)));
  const isSame = (said: ReadonlySet<string>): boolean =>
    said.size === wanted.size && [...said].every((one) => wanted.has(one));
  if (sets.some(isSame)) return true;
  // Digits of other sentences, "below 10", are no items.
  const most = sets.slice(1).filter((said) => [...wanted].every((one) => said.has(one)));
  if (most.some((said) => said.size > wanted.size)) {
    const extra = most.map((said) => [...said].filter((one) => !wanted.has(one)));
    return extra.every((each) => each.length > 0) && /below|under|up to|less than|from|between/i.test(text)
      ? afterColon(text, wanted, numbers)
      : false;
  }
  return [...wanted].every((one) => sets[0]!.has(one)) ? null : false;
}

/** The numbers that follow "are" or a colon. */
function afterColon(
  text: string,
  wanted: ReadonlySet<string>,
  numbers: (of: string) => string[],
): boolean | null {
  const tail = /(?:are|is|:)\s+([^:]*\d[^:]*)$/i.exec(text)?.[1];
  if (tail === undefined) return null;
  const said = new Set(numbers(tail));
  return said.size === wanted.size && [...wanted].every((one) => said.has(one));
}
