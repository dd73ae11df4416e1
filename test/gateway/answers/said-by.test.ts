import { describe, expect, it } from 'vitest';
import { saidBy } from '#gateway/answers/said-by.js';
import { voteSchema } from '#gateway/policy/vote-schema.js';

describe('what an answer says', () => {
  it('is the first group of the last match, or all of it', () => {
    const grouped = saidBy({ regex: 'Answer: *([A-D])' });
    expect(['Answer: A … Answer:  C', 'none'].map(grouped)).toEqual(['C', null]);
    expect(saidBy({ regex: '[A-D]\\b' })('It is B.')).toBe('B');
    // A group that takes no part in the match.
    expect(saidBy({ regex: 'yes( really)?' })('yes')).toBe('yes');
    expect(saidBy({ regex: 'Answer:(.*)' })('Answer: ')).toBeNull();
  });

  it('is searched in the end of a long answer', () => {
    const said = saidBy({ regex: '(?:the )?answer(?: is)?[: ]*(.+?)\\s*\\.?\\s*$' });
    expect(said(`The answer is 1.${' '.repeat(10 ** 6)}The answer is 2. `)).toBe('2');
    expect(said(`answer is${' '.repeat(10 ** 6)}\0`)).toBeNull();
  });

  it('is its result without an expression', () => {
    expect(saidBy({})('So it is 7.')).toBe('7');
  });
});

describe('the configuration', () => {
  it.each([
    [{ regex: '(' }, 'missing closing )'],
    [{ regex: 'a(?=b)' }, '(?='],
    [{ json_path: '$' }, 'Unrecognized key'],
    [{ agreement: 0.5 }, 'Unrecognized key'],
  ])('of %j is refused', (config, problem) => {
    expect(voteSchema.safeParse(config).error?.message).toContain(problem);
  });
});
