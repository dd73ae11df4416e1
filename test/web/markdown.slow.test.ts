import { expect, it } from 'vitest';
import { toHtml } from '#web/answer/markdown.js';
import { growthOf, MOST_GROWTH } from '../support/growth.js';

const REPEATED = [
  ...['\\(', '\\[\n', '\\[\n\n', '$', '$x ', '>', '[', '![', '[a](', '<', '<a ', '*a **b '],
  ...['`', '1. ', '- > ', '|a\n', 'a@', 'a  \n', '&amp;', 'word '],
];

/** Lines of so many characters in all, at the most. */
function lines(length: number, write: (i: number) => string): string {
  let text = '';
  for (let i = 1; text.length + write(i).length < length; i++) text += `${write(i)}\n`;
  return text;
}

const repeated = (text: string) => (length: number) => text.repeat(length / text.length);
it.each<readonly [string, (length: number) => string]>([
  ...REPEATED.map((text) => [text, repeated(text)] as const),
  ['lists within each other', (length) => lines(length, (i) => `${' '.repeat(2 * i)}- a`)],
  ['runs of backticks', (length) => lines(length, (i) => '`'.repeat(i)).replaceAll('\n', ' ')],
  ['columns', (length) => ['a|', '-|', 'b|'].map((cell) => `|${repeated(cell)(length / 4)}`).join('\n')],
])('an answer as Markdown takes time in proportion to the length: %j', async (_, write) => {
  expect(await growthOf((length) => toHtml(write(length), []), 10_000, 20)).toBeLessThan(MOST_GROWTH);
});
