import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { gsm8kReference, gsm8kSuite } from '#bench/suites/gsm8k.js';
import { HAS_SHARED_DATA, NEEDS_DATA, readShared, sharedLines } from '../../support/shared-data.js';

const check = (question: string, response: string, reference: string | null | undefined) =>
  gsm8kSuite.check(
    { id: 'x', subset: 'gsm8k', question, reference: reference ?? null, given: null },
    response,
  )!;

describe('the check of GSM8K', () => {
  it.each([
    ['a box', 'So 3 and \\boxed{\\$1{,}234.50}. That is 7.', '1234.50'],
    ['the end of an equation in a box', '\\boxed{20 + 14 = 34 \\text{ hours}}', '34'],
    ['what stands after the mark', 'He has 12.\n#### 1,200', '1200'],
    ['what the answer is', 'The answer is $18 per day, for 7 days.', '18'],
    ['the last number', 'She pays 5 and then 6.', '6'],
    ['a negative number', 'The answer is -3', '-3'],
  ])('finds %s', (_, response, expected) => {
    expect(check('', response, expected).correct).not.toBe(false);
    expect(check('', response, '77').correct).toBe(false);
  });

  it('compares values', () => {
    expect(check('', 'It is 18.00', '18')).toMatchObject({ correct: true });
    expect(check('', 'It is 18.01', '18')).toMatchObject({ correct: false });
  });
});

const row = z.object({ question: z.string(), answer: z.string() });
const response = z.object({
  problem: z.string(),
  steps: z.array(z.string()),
  final_answer_correct: z.boolean(),
});

describe.skipIf(!HAS_SHARED_DATA)(`on GSM8K${NEEDS_DATA}`, () => {
  const rows = HAS_SHARED_DATA ? z.array(row).parse(sharedLines('gsm8k/test.jsonl')) : [];

  it('finds the answer of every reference solution', () => {
    expect(rows).toHaveLength(1319);
    const failed = rows.filter(({ answer }) => {
      const reference = gsm8kReference(answer);
      return reference === null || check('', answer, reference).correct !== true;
    });
    expect(failed).toEqual([]);
  });

  it('agrees with the labels of 400 responses in ProcessBench', () => {
    const known = new Map(
      rows.map(({ question, answer }) => [question.replace(/\s/g, ''), gsm8kReference(answer)]),
    );
    const agreeing = z
      .array(response)
      .parse(JSON.parse(readShared('processbench/gsm8k.json')))
      .filter(({ problem, steps, final_answer_correct }) => {
        const reference = known.get(problem.replace(/\s/g, ''));
        return check(problem, steps.join('\n\n'), reference).correct === final_answer_correct;
      });
    // Two of the others are labelled wrong though their answer is right.
    expect(agreeing.length).toBeGreaterThanOrEqual(396);
  });
});
