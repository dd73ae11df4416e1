import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { extractGsm8kAnswer, gsm8kReference, sameGsm8kAnswer } from '#bench/answers/gsm8k-answer.js';
import { HAS_SHARED_DATA, NEEDS_DATA, readShared, sharedLines } from '../../support/shared-data.js';

describe('extractGsm8kAnswer', () => {
  it.each([
    ['a box', 'So 3 and \\boxed{\\$1{,}234.50}. That is 7.', '1234.50'],
    ['the end of an equation in a box', '\\boxed{20 + 14 = 34 \\text{ hours}}', '34'],
    ['what stands after the mark', 'He has 12.\n#### 1,200', '1200'],
    ['what the answer is', 'The answer is $18 per day, for 7 days.', '18'],
    ['the last number', 'She pays 5 and then 6.', '6'],
    ['a negative number', 'The answer is -3', '-3'],
    ['nothing', 'none', null],
  ])('finds %s', (_, response, expected) => {
    expect(extractGsm8kAnswer(response)).toBe(expected);
  });
});

describe('sameGsm8kAnswer', () => {
  it('compares values', () => {
    expect(sameGsm8kAnswer('18.00', '18')).toBe(true);
    expect(sameGsm8kAnswer('18.01', '18')).toBe(false);
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
      const [reference, found] = [gsm8kReference(answer), extractGsm8kAnswer(answer)];
      return reference === null || found === null || !sameGsm8kAnswer(found, reference);
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
        const found = extractGsm8kAnswer(steps.join('\n\n'));
        const reference = known.get(problem.replace(/\s/g, ''));
        return (
          (found !== null && reference != null && sameGsm8kAnswer(found, reference)) === final_answer_correct
        );
      });
    // Two of the others are labelled wrong though their answer is right.
    expect(agreeing.length).toBeGreaterThanOrEqual(396);
  });
});
