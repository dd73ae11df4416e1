import { describe, expect, it } from 'vitest';
import { TASKS } from '#lab/small-models/tasks.js';
import { HAS_SHARED_DATA, NEEDS_DATA, SHARED_DATA } from '../../support/shared-data.js';

const problem = { id: 'x', question: '', messages: [], completion: '', given: null };

describe('labels', () => {
  it('of steps with equations: one false equation makes a step wrong', () => {
    const steps = ['3 * 4 = 12.', '3 * 4 = 12 and 5 + 5 = 11.', 'The answer is 12.'];
    expect(TASKS.equations.label(problem, steps)).toEqual([false, true, null]);
  });

  it('of given steps: right before the first wrong one, and none after it', () => {
    const given = { generator: '', steps: ['a', 'b', 'c'], finalAnswerCorrect: false };
    const label = (firstWrong: number | null) =>
      TASKS['read-math'].label({ ...problem, given: { ...given, firstWrong } }, given.steps);
    expect(label(1)).toEqual([false, true, null]);
    expect(label(null)).toEqual([false, false, false]);
  });
});

describe(`problems${NEEDS_DATA}`, () => {
  it.skipIf(!HAS_SHARED_DATA).each(['equations', 'read-gsm8k', 'read-math'] as const)(
    'of %s are more than 150',
    async (task) => {
      expect((await TASKS[task].load(SHARED_DATA)).length).toBeGreaterThan(150);
    },
  );
});
