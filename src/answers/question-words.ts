import { words } from './plain-text.js';

const STOP = new Set(
  'a an and answer are as at be been by can could did do does for from has have he how in is it its many much name of on or please short she that the their there these they this those to was were what when where which who whom whose why will with would you your yes no not'.split(
    ' ',
  ),
);

/** What a question, up to its last question mark, is about: its words without those of grammar, cut to their stems. */
export const contentOf = (text: string): ReadonlySet<string> =>
  new Set(
    words(/^[\s\S]*\?/.exec(text)?.[0] ?? text)
      .split(' ')
      .filter((word) => word !== '' && !STOP.has(word))
      .map(stem),
  );

const PAST: Readonly<Record<string, string>> = {
  ...{
    fell: 'fall',
    fallen: 'fall',
    began: 'begin',
    begun: 'begin',
    wrote: 'write',
    written: 'write',
    sank: 'sink',
    sunk: 'sink',
  },
  ...{
    won: 'win',
    built: 'build',
    flew: 'fly',
    flown: 'fly',
    became: 'become',
    found: 'find',
    made: 'make',
    sold: 'sell',
  },
  ...{
    took: 'take',
    taken: 'take',
    drew: 'draw',
    spoke: 'speak',
    spoken: 'speak',
    led: 'lead',
    held: 'hold',
    met: 'meet',
  },
};

/** Coarse: "opens" and "open" are one. */
const stem = (word: string): string => stemmed(PAST[word] ?? word);
const stemmed = (word: string): string =>
  word.length > 4 ? word.replace(/(?:ies|es|s|ed|ing|e)$/, '') : word.replace(/(?<=\p{L}{3})s$/u, '');

/** Share of the question's content that a text repeats, 0 to 1. */
export function overlap(question: string, text: string): number {
  const [asked, said] = [contentOf(question), contentOf(text)];
  if (asked.size === 0) return 0;
  return [...asked].filter((word) => said.has(word)).length / asked.size;
}
