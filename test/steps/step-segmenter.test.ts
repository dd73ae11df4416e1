import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type StepMode, StepSegmenter, segmentText } from '#src/index.js';
import { cutAt, cuts, prose } from '../support/prose.js';

const steps = (text: string, mode?: StepMode): string[] => segmentText(text, mode).map((step) => step.text);
const mode = fc.constantFrom<StepMode>('sentence', 'paragraph');

const LONG = 'word '.repeat(500);

describe('segmentText', () => {
  it.each<[rule: string, steps: string[]]>([
    ['nothing', []],
    ['lines', ['2 + 3 = 5\n', 'so the sum is 5\n\n', 'and done\n']],
    ['sentences', ['One is odd. ', 'Two is even! ', 'Is 3? ', '4 is not']],
    ['space before the text', [' \n One is odd.\n', 'Two']],
    ['lower case after a full stop', ['It is approx. five and so on']],
    ['what begins a sentence', ['One. ', '$x$ is it. ', '\\(y\\) too. ', '(Or so.) ', '*Or* not.']],
    ['quotes and brackets that close', ['He said "Stop." ', 'Then (so it is.) ', 'It is **bold.** ', 'End.']],
    ['typographic quotes', ['“Is it?” ', 'It is ‘so.’ ', 'Yes.']],
    [
      'abbreviations',
      ['See e.g. Bob or i.e. Al vs. Dr. No and Eq. (3) by Mr. X in St. Ives, No. 5. ', 'So it is.'],
    ],
    ['no, the word', ['Is it? ', 'No. ', 'Then it is not.']],
    ['words that end like an abbreviation', ['It is the 1st. ', 'He adds. ', 'They bust. ', 'Done.']],
    ['initials', ['It is J. R. Smith of the U.S. Army. ', 'He is old.']],
    ['a letter that is no initial', ['The answer is B. ', '5 is not.']],
    ['decimals', ['It is 3.14 or 2.5. ', '7 is more.']],
    ['list numbers', ['1. First we add.\n', '2. Then we stop. ', '3. Done.\n', 'a. Or so.\n', 'ii. Or not.']],
    ['a number that ends a sentence', ['There are 12. ', 'Then 3 go.']],
    ['money', ['It costs $5. ', 'Then it costs $6. ', 'Bob has $7 left.\n', 'So $8.']],
    ['a formula with sentences in it', ['We get $a. B\\$. C$ and \\(d. E\\) too. ', 'Done.']],
    ['a formula that no space may begin or end', ['It is 5 $ or so. ', 'Then $ is it. ', 'End $.']],
    ['a dollar before a digit closes nothing', ['From A$5. ', 'To B$6.']],
    ['an escaped dollar', ['It is \\$5. ', 'Then 6$ is it. ', 'Then \\$6.']],
    ['a formula over a line end is none', ['It is $a. ', 'But\n', 'c$ is it. ', 'Done.']],
    ['a formula too long to be one', [`It is $${'x'.repeat(400)}. `, 'Then$']],
    ['displayed formulas', ['We get\n', '$$\na. B\n\nc\n$$\n', '\\[\nx = 1.\nY\n\\]\n', 'Done.']],
    ['environments', ['\\begin{align*}\na. B\n\\end{align}\n\\end{align*}\n', 'Done.']],
    ['what is never closed', ['We get\n', '\\[ x = 1.\nY\n\nZ. A']],
    ['code', ['We run:\n', '```js\na. B\n\nc()\n```\n', 'Done.\n', '```\nx. Y\n']],
    ['code within a line', ['```a```. ', 'Then it is.\n', 'Done.']],
    ['markers', ['- \nfirst thing\n', '1.\n\nSecond\n', '**2.**\nThird\n', '##\nTitle\n', '(a)\nLast']],
    ['short pieces', ['First one.\n:)\n', 'Second. 7! ', 'Third one\n7']],
    ['a short first piece', ['A\nb\nSo it is.\n', 'Done.']],
    ['only short pieces', ['A\nb']],
    ['scripts without spaces', ['你好。', '是吗？」', '真的！！', '好吧。\n', '完成了']],
    ['scripts without case', ['यह है। ', 'वह नहीं। ', 'هل هذا؟ ', 'نعم هو.']],
    ['capital letters of two units', ['So it is. ', '𝐀𝐁𝐂 is it.']],
    ['white space', [' \n\n ']],
  ])('%s', (_, expected) => {
    expect(steps(expected.join(''))).toEqual(expected);
  });

  it.each<[rule: string, steps: string[]]>([
    ['lines', ['One. Two.\nThree.\n\n', 'Four.\n \n\n', 'Five.']],
    ['what is no sentence', ['A\n\n', '$$ a\n\n', 'b $$\n\n', '1.\n\n', 'c']],
  ])('%s in paragraphs', (_, expected) => {
    expect(steps(expected.join(''), 'paragraph')).toEqual(expected);
  });

  it('gives character ranges', () => {
    expect(segmentText('One is.\nTwo is.')).toEqual([
      { start: 0, end: 8, text: 'One is.\n' },
      { start: 8, end: 15, text: 'Two is.' },
    ]);
  });

  it('cuts what is longer than 2000 characters: at white space, else anywhere but within a character', () => {
    expect(steps(LONG).map((step) => step.length)).toEqual([2000, 500]);
    expect(steps(`\\[ a${LONG}`)[0]).toHaveLength(1999);
    expect(steps(`x${'😀'.repeat(1500)}`).map((step) => step.length)).toEqual([1999, 1002]);
    expect(steps('x'.repeat(2000))).toHaveLength(1);
    expect(steps(' '.repeat(2001)).map((step) => step.length)).toEqual([2000, 1]);
  });
});

describe('StepSegmenter', () => {
  it('gives a step once its end is certain', () => {
    const segmenter = new StepSegmenter();
    expect(segmenter.push('It is. ')).toEqual([]);
    expect(segmenter.push('Th')).toEqual([]);
    expect(segmenter.push('e').map(({ text }) => text)).toEqual(['It is. ']);
    expect(segmenter.end().map(({ text }) => text)).toEqual(['The']);
  });

  it('waits for a formula to close, not for it to begin', () => {
    const segmenter = new StepSegmenter();
    expect(segmenter.push('It is.\n$a +')).toHaveLength(1);
    expect(segmenter.push(' b. C is')).toEqual([]);
    expect(segmenter.push('\nSo').map(({ text }) => text)).toEqual(['$a + b. ']);
    expect(segmenter.push(' it').map(({ text }) => text)).toEqual(['C is\n']);
  });

  it('gives the same steps however the text is cut', () => {
    fc.assert(
      fc.property(prose(60), cuts, mode, (text, shares, mode) => {
        const segmenter = new StepSegmenter(mode);
        const chunks = cutAt(text.split(''), shares).map((chunk) => chunk.join(''));
        const found = [...chunks.flatMap((chunk) => segmenter.push(chunk)), ...segmenter.end()];
        expect(found).toEqual(segmentText(text, mode));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['half a character that begins no piece yet', 'One is. 7! 𝐀𝐁𝐂 it is.'],
    ['a formula just short enough', `It is \\(a. B${'x'.repeat(395)}\\) so.`],
    ['a formula just too long', `It is \\(a. B${'x'.repeat(396)}\\) so.`],
  ])('gives the same steps one character at a time: %s', (_, text) => {
    const segmenter = new StepSegmenter();
    const found = [...text.split('').flatMap((unit) => segmenter.push(unit)), ...segmenter.end()];
    expect(found).toEqual(segmentText(text));
  });

  it('gives the same steps one character at a time where one is cut for its length', () => {
    const long = fc.tuple(fc.integer({ min: 1900, max: 2001 }), fc.constantFrom('x', 'word '));
    fc.assert(
      fc.property(long, prose(20), mode, ([length, filler], tail, mode) => {
        const head = filler.repeat(length).slice(0, length);
        const segmenter = new StepSegmenter(mode);
        const units = [head, ...tail.split('')];
        const found = [...units.flatMap((unit) => segmenter.push(unit)), ...segmenter.end()];
        expect(found).toEqual(segmentText(head + tail, mode));
      }),
      { numRuns: 300 },
    );
  });

  it('never changes a step that it has given, whatever follows', () => {
    fc.assert(
      fc.property(prose(30), prose(30), mode, (text, continuation, mode) => {
        const settled = new StepSegmenter(mode).push(text);
        expect(segmentText(text + continuation, mode).slice(0, settled.length)).toEqual(settled);
      }),
      { numRuns: 1000 },
    );
  });

  it('gives steps that are the text, none longer than 2000 characters', () => {
    fc.assert(
      fc.property(prose(60), mode, (text, mode) => {
        const found = segmentText(text, mode);
        expect(found.map((step) => step.text).join('')).toBe(text);
        expect(found.map((step) => text.slice(step.start, step.end))).toEqual(steps(text, mode));
        for (const step of found) expect(step.text.length).toBeLessThanOrEqual(2000);
      }),
    );
  });

  it('can begin another text after the end of one', () => {
    const segmenter = new StepSegmenter();
    segmenter.push('One is.\nTwo');
    segmenter.end();
    expect([...segmenter.push('So.\nIt is'), ...segmenter.end()]).toEqual(segmentText('So.\nIt is'));
  });
});
