import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sameAnswer } from '#bench/answers/equivalence.js';
import { extractMathAnswer } from '#bench/answers/math-answer.js';
import { lastBoxed } from '#src/answers/boxed.js';
import {
  HAS_SHARED_DATA,
  NEEDS_DATA,
  readShared,
  sharedFiles,
  sharedLines,
} from '../../support/shared-data.js';

const SAME: readonly (readonly [string, string])[] = [
  ['0.75', '3/4'],
  ['2\\sqrt2', '\\sqrt8'],
  ['\\sqrt{4}', '2'],
  ['\\frac12', '0.5'],
  ['.5', '\\frac{1}{2}'],
  ['\\dfrac{3}{4}', '0.75'],
  ['\\frac{625}4', '156.25'],
  ['\\frac{2}{4}', '\\frac12'],
  ['-\\frac{1}{2}', '\\frac{-1}{2}'],
  ['1\\frac{1}{2}', '\\frac{3}{2}'],
  ['7 3/4', '7.75'],
  ['0.\\overline{3}', '\\frac13'],
  ['3.0', '3'],
  ['0.33333', '\\frac13'],
  ['1{,}000', '1000'],
  ['10,\\!000', '10,000'],
  ['\\$1,250.00', '1250'],
  ['$5$', '5'],
  ['5.', '5'],
  ['50\\%', '50'],
  ['90^\\circ', '90'],
  ['90 degrees', '90'],
  ['5 \\text{cm}', '5'],
  ['12\\text{ cm}^2', '12'],
  ['12\\pi\\text{ square inches}', '12\\pi'],
  ['\\text{(A)}', 'A'],
  ['\\text{even}', 'Even'],
  ['2516_8', '2516_{8}'],
  ['(0.5, 2)', '\\left(\\frac{1}{2},2\\right)'],
  ['x\\in[1,2]', '[1, 2]'],
  ['(3,\\infty) \\cup (-\\infty, 2)', '(-\\infty,2)\\cup(3,\\infty)'],
  ['\\begin{pmatrix}1\\\\2\\end{pmatrix}', '\\begin{bmatrix} 1 \\\\ 2.0 \\end{bmatrix}'],
  ['1,2', '2, 1'],
  ['\\{1,2,3\\}', '3,2,1'],
  ['x=1\\text{ or }x=2', '1,2'],
  ['1\\pm\\sqrt{2}', '1+\\sqrt2,1-\\sqrt2'],
  ['x=5', '5'],
  ['f(x) = x^2', 'x^2'],
  ['(b,c)=(6,5)', '(6,5)'],
  ['x=\\frac{28}{4}=7', '7'],
  ['\\frac{28}{4}=7', '7'],
  ['2x-y=1', 'y=2x-1'],
  ['x+y=3', '3=x+y'],
  ['x^2+2x+1', '(x+1)^2'],
  ['\\frac{\\sqrt{2}}{2}', '\\frac{1}{\\sqrt{2}}'],
  ['\\sqrt[3]{-8}', '-2'],
  ['3+4\\mathrm{i}', '4i+3'],
  ['(1+i)^2', '2i'],
  ['e^{i\\pi/2}', 'i\\cdot\\sin\\frac{\\pi}{2}'],
  ['\\sin^2 x', '1-\\cos^2 x'],
  ['\\log_2 8', '3'],
  ['10!', '3628800'],
  ['1.5\\times10^3', '1500'],
  ['x_1+x_2', 'x_2+x_1'],
];

const DIFFERENT: readonly (readonly [string, string])[] = [
  ['(1,2]', '[1,2)'],
  ['(1,2)', '[1,2]'],
  ['(1,2)', '(2,1)'],
  ['(1,2)', '1,2'],
  ['1,234', '(1,234)'],
  ['1,2', '1,2,3'],
  ['1,1,2', '1,2,2'],
  ['12345', '12346'],
  ['5', '-5'],
  ['0.33', '\\frac13'],
  ['50', '0.5'],
  ['1/0', '2/0'],
  ['2\\pi', '6.28'],
  ['x^2', 'x^3'],
  ['2x+3y', '2x+3z'],
  ['\\sqrt{x^2}', 'x'],
  ['x+y=3', 'x+y=4'],
  ['x+1=6', '6'],
  ['2e-1', '0.2'],
  ['1010_2', '1010'],
  ['1010_2', '10'],
  ['even', 'neve'],
  ['\\text{even}', '\\text{odd}'],
  ['A', 'B'],
  ['3abc', '3'],
  ['5\\pm1', '6'],
  ['3:4', '4:3'],
  ['\\infty', '-\\infty'],
  ['\\begin{pmatrix}1\\\\2\\end{pmatrix}', '\\begin{pmatrix}2\\\\1\\end{pmatrix}'],
  ['\\begin{pmatrix}1\\\\2\\end{pmatrix}', '\\begin{pmatrix}1&2\\end{pmatrix}'],
  ['\\begin{vmatrix}1&2\\\\3&4\\end{vmatrix}', '\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}'],
  ['9^{9^{9^9}}', '5'],
  ['99999999!', '99999998!'],
  ['', '5'],
];

describe('sameAnswer', () => {
  it.each(SAME)('takes %s and %s for the same', (a, b) => {
    expect([sameAnswer(a, b), sameAnswer(b, a)]).toEqual([true, true]);
  });

  it.each(DIFFERENT)('tells %s and %s apart', (a, b) => {
    expect([sameAnswer(a, b), sameAnswer(b, a)]).toEqual([false, false]);
  });

  it('has an end, and no exception, for whatever is compared', () => {
    const token = fc.constantFrom(
      ...[
        'x',
        '2',
        '13',
        '+',
        '-',
        '/',
        '^',
        '_',
        '{',
        '}',
        '(',
        ')',
        '[',
        ']',
        '|',
        '!',
        ',',
        '=',
        ' ',
        '&',
      ],
      ...['\\frac', '\\frac{', '\\sqrt', '\\sqrt[3]{', '\\pi', '\\sin', '\\log_2', '\\left(', '\\right)'],
      ...['\\begin{pmatrix}', '\\end{pmatrix}', '\\\\', '\\cup', '\\pm', '\\{', '\\}', '\\text{', '\\%', '$'],
    );
    const answer = fc.array(token, { maxLength: 40 }).map((tokens) => tokens.join(''));
    fc.assert(
      fc.property(answer, answer, (a, b) => {
        expect(typeof sameAnswer(a, b)).toBe('boolean');
        expect(sameAnswer(a, ` ${a}`)).toBe(sameAnswer(` ${a}`, a));
      }),
      { numRuns: 400 },
    );
    fc.assert(fc.property(fc.string(), fc.string(), (a, b) => typeof sameAnswer(a, b) === 'boolean'));
  });

  it.each([
    ['open brackets', '('.repeat(150)],
    ['sizes', '\\left('.repeat(40)],
    ['signs', `${'-'.repeat(200)}1`],
    ['integrals', '\\int'.repeat(40)],
    ['a tower of powers', `${'9^{'.repeat(30)}9${'}'.repeat(30)}`],
    ['factorials', `9${'!'.repeat(150)}`],
    ['a huge exponent', '1e999'],
    ['an exponent without end', '1e999999999'],
    ['nested sets', `${'\\{1,'.repeat(300)}1${'\\}'.repeat(300)}`],
    ['a long list', Array.from({ length: 900 }, (_, i) => i).join(',')],
  ])('does not hang on %s', (_, answer) => {
    expect(sameAnswer(answer, '7')).toBe(false);
    expect(sameAnswer(answer, `7 + ${answer}`)).toBe(false);
  });
});

const mathRow = z.object({ unique_id: z.string(), problem: z.string(), solution: z.string() });
const responseRow = z.object({
  id: z.string(),
  problem: z.string(),
  steps: z.array(z.string()),
  final_answer_correct: z.boolean(),
});

describe.skipIf(!HAS_SHARED_DATA)(`on MATH${NEEDS_DATA}`, () => {
  const rows = HAS_SHARED_DATA
    ? sharedFiles('math', '.jsonl').flatMap((file) => z.array(mathRow).parse(sharedLines(`math/${file}`)))
    : [];
  const references = rows.map((row) => ({ ...row, reference: lastBoxed(row.solution) }));

  it('finds every reference, and each the same as itself otherwise written', () => {
    expect(references).toHaveLength(5000);
    const failed = references.filter(({ reference }) => {
      if (reference === null) return true;
      const other = ` $${reference.replaceAll('\\frac', '\\dfrac').replaceAll('(', '\\left(').replaceAll(')', '\\right)')}$. `;
      return !sameAnswer(reference, reference) || !sameAnswer(other, reference);
    });
    expect(failed.map(({ unique_id }) => unique_id)).toEqual([]);
  });

  it('tells the references of neighbouring problems apart, but for degrees and percent', () => {
    const short = (text: string | null): string => (text ?? '').replace(/\s|\^\\circ|\\%/g, '');
    const confused = references.slice(1).flatMap(({ reference }, i) => {
      const before = references[i]?.reference ?? '';
      const same = reference !== null && sameAnswer(reference, before);
      return same && short(reference) !== short(before) ? [[reference, before]] : [];
    });
    expect(confused).toEqual([]);
  });

  it('agrees with the labels of 1000 responses in ProcessBench', () => {
    const byProblem = new Map(
      references.map(({ problem, reference }) => [problem.replace(/\s/g, ''), reference]),
    );
    const responses = z.array(responseRow).parse(JSON.parse(readShared('processbench/math.json')));
    const agreeing = responses.filter(({ problem, steps, final_answer_correct }) => {
      const answer = extractMathAnswer(steps.join('\n\n'));
      const reference = byProblem.get(problem.replace(/\s/g, ''));
      return (answer !== null && reference != null && sameAnswer(answer, reference)) === final_answer_correct;
    });
    // Of the others seven are the same and labelled wrong; the rest say their answer outside of a box.
    expect(agreeing.length).toBeGreaterThanOrEqual(985);
  });
});
