import { describe, expect, it } from 'vitest';
import { saidBy } from '#gateway/models/said-by.js';
import { voteSchema } from '#gateway/policy/vote-schema.js';

describe('what an answer says', () => {
  it('is the first group of the last match, or all of it', () => {
    const grouped = saidBy({ regex: 'Answer: *([A-D])' });
    expect(['Answer: A … Answer:  C', 'none'].map(grouped)).toEqual(['C', null]);
    expect(saidBy({ regex: '[A-D](?=\\.)' })('It is B.')).toBe('B');
    // A group that takes no part in the match.
    expect(saidBy({ regex: 'yes( really)?' })('yes')).toBe('yes');
    expect(saidBy({ regex: 'Answer:(.*)' })('Answer: ')).toBeNull();
  });

  it('is the value at a path of JSON, in a block or not', () => {
    const at = saidBy({ json_path: '$.result.value' });
    const json = '{"why": "…", "result": {"value": [1, "a"]}}';
    const said = '[[1,"a"]]';
    expect([json, ` \`\`\`json\n${json}\n\`\`\`\n`].map(at)).toEqual([said, said]);
    const whole = saidBy({ json_path: '$' });
    expect(whole('{"a": 1, "b": {"d": 2, "c": 3}}')).toBe(whole('{"b": {"c": 3, "d": 2}, "a": 1}'));
    expect(['{"result": {}}', 'no JSON', `${json} and more`].map(at)).toEqual([null, null, null]);
  });

  it('is its result without an expression', () => {
    expect(saidBy({})('So it is 7.')).toBe('7');
  });
});

describe('the configuration', () => {
  it.each([
    [{ regex: '(' }, 'Unterminated group'],
    [{ json_path: 'result' }, 'xpected'],
    [{ regex: 'a', json_path: '$' }, 'regex is not possible with json_path'],
    [{ regexp: 'a' }, 'Unrecognized key'],
  ])('of %j is refused', (config, problem) => {
    expect(voteSchema.safeParse(config).error?.message).toContain(problem);
  });
});
