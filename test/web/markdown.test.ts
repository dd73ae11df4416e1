import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHtml } from '#web/answer/markdown.js';

const range = (source: string, text: string) => {
  const from = source.indexOf(text);
  return { from, to: from + text.length, attributes: { 'data-index': '1' } };
};
const marked = (html: string): string[] =>
  [...html.matchAll(/<span data-index[^>]*>(.*?)<\/span>/gs)].map(([, text = '']) => text);
const unmarked = (html: string): string => html.replace(/<span data-index[^>]*>(.*?)<\/span>/gs, '$1');

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

  it('marks each range where it is, with what was struck out before it, where the same text comes again', () => {
    const source = 'No. Yes. No. Yes.';
    const html = toHtml(source, [
      { from: 4, to: 8, attributes: { 'data-index': '1', title: 'a "b"' }, struck: ['No & no'] },
      { from: 13, to: 17, attributes: { 'data-index': '3', 'data-first': '' } },
    ]);
    expect(html).toBe(
      '<p>No. <del class="flinch-struck" aria-hidden="true">No &amp; no</del><span data-index="1" title="a &quot;b&quot;">Yes.</span> No. <span data-index="3" data-first="">Yes.</span></p>\n',
    );
  });

  it.each([
    ['a \\(x^2 < 1\\) b', 'x^2 &lt; 1', false],
    ['a $x^2$ b', 'x^2', false],
    ['a $$x$$ b', 'x', true],
    ['So:\n\\[\nx = 1\n= 2\n\\]\nDone.', 'x = 1\n= 2', true],
    ['- so:\n  \\[ \\frac{1}{2} \\]\n', '\\frac{1}{2}', true],
  ])('finds the formula of %j', (source, tex, display) => {
    const html = toHtml(source, []);
    expect(html).toContain(`<span data-tex="${tex}"${display ? ' data-display' : ''}>`);
    expect(html.match(/data-tex/g)).toHaveLength(1);
  });

  it.each(['It costs $5 and $10.', 'From $ 5 to $ 6', '`$x$` and \\\\', 'an open \\( x'])(
    'takes %j for no formula',
    (source) => {
      expect(toHtml(source, [])).not.toContain('data-tex');
    },
  );

  it.each([
    ['So\n\\[\n    x_a = `1\n\n    y* z*', '<p class="verbatim">\\[\n    x_a = `1\n\n    y* z*</p>'],
    ['So \\(x_a* b*', 'So \\(x_a* b*'],
    ['a $$x$$ b $$*y*', '$$*y*'],
  ])('leaves as it is the formula that a growing text ends in: %j', (source, expected) => {
    expect(toHtml(source, [], true)).toContain(expected);
    expect(toHtml(source, [], true)).not.toMatch(/<(pre|code|em)>/);
    expect(toHtml(source, [])).not.toContain(expected);
  });

  it('gives white space an element only where something is to be seen at it', () => {
    const blank = { from: 1, to: 2, attributes: { 'data-index': '1' } };
    expect(toHtml('a b', [blank])).toBe('<p>a b</p>\n');
    expect(toHtml('a b', [{ ...blank, struck: ['x'] }])).toContain('aria-hidden="true">x</del><span');
    const first = { ...blank, attributes: { ...blank.attributes, 'data-first': '' } };
    expect(toHtml('a b', [first])).toContain('data-first');
  });

  it('marks the tokens of a formula', () => {
    const source = 'a \\(x + 1\\)';
    expect(marked(toHtml(source, [range(source, 'x +')]))).toEqual(['x +']);
  });

  it.each([
    [
      'the language of code',
      '```c++ x"y\na\n```',
      '<div class="code" data-language="c++"><pre><code>a</code></pre>',
    ],
    [
      'no hostile language',
      '```"><img>\na\n```',
      '<div class="code" data-language=""><pre><code>a</code></pre>',
    ],
    [
      'boxes of tasks',
      '- [x] a\n- [ ] b',
      '<span class="task">☑</span> a</li>\n<li><span class="task">☐</span> b',
    ],
    ['alignments', '|a|b|\n|:-:|-:|\n|1|2|', '<td align="center">1</td>\n<td align="right">2</td>'],
  ])('has %s', (_name, source, expected) => {
    expect(toHtml(source, [])).toContain(expected);
  });

  it.each([
    ['quotes within each other', `${'> '.repeat(20_000)}a < b`, /<blockquote>\n<p>&gt; &gt; /],
    ['a long paragraph', `${'*a* '.repeat(2000)}a < b`, /^<p>\*a\* \*a\* /],
    ['a long formula', `\\(${'x+'.repeat(2000)}x\\) a < b`, /^<p>\(x\+x\+/],
    ['a table of many columns', `|${'a|'.repeat(200)}\n|${'-|'.repeat(200)}\na < b`, /^<p>\|a\|a\|/],
    ['a table of many cells', `a|b\n-|-\n${'c|d\n'.repeat(3000)}a < b`, /^<p>a\|b<br>-\|-/],
    ['a long answer', `${'*a*\n\n'.repeat(20_000)}a < b`, /^<p class="verbatim">\*a\*/],
  ])('shows as text what takes a parser too long: %s', (_name, source, expected) => {
    const html = toHtml(source, [range(source, 'a < b')]);
    expect(html).toMatch(expected);
    expect(marked(html)).toEqual(['a &lt; b']);
  });

  it('draws no more formulas than it may', () => {
    const html = toHtml('\\(x^2\\) and so\n\n'.repeat(3000), []);
    expect(html.match(/data-tex/g)?.length).toBeLessThan(1000);
    expect(html.match(/\\\(x\^2\\\)/g)).toHaveLength(3000);
  });

  it('is the same but for the marks, and shows every tag as text', () => {
    const piece = fc.constantFrom(
      ...['a', 'b. ', '**', '*', '`', '```\n', '- ', '> ', '\n', '\n\n', '  ', '# ', '|'],
      ...['$', '\\(', '\\)', '[c](d)', '&lt;', '<i>', '\\*', '![x](y)'],
    );
    const pieces = fc.array(piece);
    fc.assert(
      fc.property(pieces, pieces, pieces, fc.boolean(), (before, flagged, after, growing) => {
        const [a, b, c] = [before, flagged, after].map((each) => each.join(''));
        const plain = toHtml(`${a}${b}${c}`, [], growing);
        const flag = { from: a!.length, to: a!.length + b!.length, attributes: { 'data-index': '0' } };
        const html = toHtml(`${a}${b}${c}`, [flag], growing);
        expect(unmarked(html)).toBe(plain);
        expect(plain).not.toMatch(/<(i|img)\b/);
      }),
      { numRuns: 500 },
    );
  });
});
