import { describe, expect, it } from 'vitest';
import { type Draws, inReach, rolloutVerdict } from '#bench/rollouts/rollout-rule.js';

const RULE = { rollouts: 4 };
const reached = (drawn = 1): Draws => ({ drawn, reached: 1 });
const NEVER: Draws = { drawn: 4, reached: 0 };

describe('the first wrong step by rollouts', () => {
  it('is the first after which no completion reaches the answer', () => {
    // The prompt and the first step leave it in reach, the second one does not.
    expect(rolloutVerdict([reached(), reached(3), NEVER], 5, RULE)).toEqual({ step: 1 });
    expect(rolloutVerdict([reached(), NEVER], 5, RULE)).toEqual({ step: 0 });
  });

  it('is the first, though the answer is in reach again after a later one', () => {
    expect(rolloutVerdict([reached(), NEVER, reached()], 5, RULE)).toEqual({ step: 0 });
  });

  it('is the last step where all others leave the answer in reach: the response is wrong', () => {
    expect(rolloutVerdict([reached(), reached(), reached()], 3, RULE)).toEqual({ step: 2 });
    expect(rolloutVerdict([reached()], 1, RULE)).toEqual({ step: 0 });
  });

  it('is not found where no completion of the prompt reaches the answer', () => {
    expect(rolloutVerdict([NEVER], 3, RULE)).toEqual({ rejected: 'not_reached' });
    expect(rolloutVerdict([NEVER, reached()], 3, RULE)).toEqual({ rejected: 'not_reached' });
  });

  it('asks for draws after the first prefix that is undecided', () => {
    expect(rolloutVerdict([], 3, RULE)).toEqual({ next: 0 });
    expect(rolloutVerdict([{ drawn: 3, reached: 0 }], 3, RULE)).toEqual({ next: 0 });
    expect(rolloutVerdict([reached(4)], 3, RULE)).toEqual({ next: 1 });
    expect(rolloutVerdict([reached(), reached(), { drawn: 1, reached: 0 }], 3, RULE)).toEqual({ next: 2 });
  });
});

describe('whether the answer is in reach', () => {
  it.each([
    [{ drawn: 0, reached: 0 }, null],
    [{ drawn: 3, reached: 0 }, null],
    [{ drawn: 3, reached: 1 }, true],
    [{ drawn: 4, reached: 0 }, false],
  ])('is decided as soon as further draws change nothing: %j', (draws, expected) => {
    expect(inReach(draws, RULE)).toBe(expected);
  });
});
