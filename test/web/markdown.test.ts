import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHtml } from '#web/markdown.js';

const range = (source: string, text: string) => {
  const from = source.indexOf(text);
  return { from, to: from + text.length, title: text };
};
const marked = (html: string): string[] =>
  [...html.matchAll(/<mark [^>]*>(.*?)<\/mark>/gs)].map(([, text = '']) => text);
const unmarked = (html: string): string => html.replace(/<mark [^>]*>|<\/mark>/g, '');

describe('an answer as Markdown', () => {
  it.each([
    ['a sentence of a paragraph', 'It is 4. It is 5. Yes.', 'It is 5. ', ['It is 5. ']],
    ['half of an emphasis', 'It **is 4. It is 5.** Yes.', 'It is 5.** ', ['It is 5.', ' ']],
    ['a heading', '# A **b**\n\nc', '# A **b**\n', ['A ', 'b']],
    [
      'an item of a list',
      '1. a\n2. `b` [c](https://c.example) c\n',
      '2. `b` [c](https://c.example) c',
      ['b', ' ', 'c', ' c'],
    ],
    ['a line of code in a list', '- x\n\n  ```\n  a < b\n  c\n  ```\n', 'a < b\n', ['a &lt; b']],
    ['a cell of a table', '|a|b|\n|-|-|\n|c|d|\n', '|c|d|', ['c', 'd']],
    [
      'tags and entities',
      'a &amp; `<b>` <img> &',
      'a &amp; `<b>` <img> &',
      ['a &amp; ', '&lt;b&gt;', ' ', '&lt;img&gt;', ' &amp;'],
    ],
  ])('marks %s', (_name, source, flagged, expected) => {
    const pieces = marked(toHtml(source, [range(source, flagged)]));
    expect(pieces.filter((piece) => piece.trim())).toEqual(expected.filter((piece) => piece.trim()));
  });

  it('marks each range once, with its title, where the same text comes again', () => {
    const source = 'No. Yes. No. Yes.';
    const html = toHtml(source, [
      { from: 4, to: 8, title: 'higher than "98 %"' },
      { from: 13, to: 17, title: 'second' },
    ]);
    expect(html).toBe(
      '<p>No. <mark data-level="flagged" data-first title="higher than &quot;98 %&quot;">Yes.</mark> No. <mark data-level="flagged" data-first title="second">Yes.</mark></p>\n',
    );
  });

  it('is the same but for the marks, and shows every tag as text', () => {
    const piece = fc.constantFrom(
      ...['a', 'b. ', '**', '*', '`', '```\n', '- ', '> ', '\n', '\n\n', '  ', '# ', '|'],
      ...['[c](d)', '&lt;', '<i>', '\\*', '![x](y)'],
    );
    const pieces = fc.array(piece);
    fc.assert(
      fc.property(pieces, pieces, pieces, (before, flagged, after) => {
        const [a, b, c] = [before, flagged, after].map((each) => each.join(''));
        const plain = toHtml(`${a}${b}${c}`, []);
        const html = toHtml(`${a}${b}${c}`, [{ from: a!.length, to: a!.length + b!.length, title: 't' }]);
        expect(unmarked(html)).toBe(plain);
        expect(plain).not.toMatch(/<(i|img)\b/);
      }),
      { numRuns: 500 },
    );
  });
});
