import { describe, expect, it } from 'vitest';
import { saidBy } from '#gateway/models/said-by.js';
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

  it('is the value at a path of JSON, in a block or not', () => {
    const at = saidBy({ json_path: '$.result.value' });
    const json = '{"why": "…", "result": {"value": [1, "a"]}}';
    const said = '[[1,"a"]]';
    expect([json, ` \`\`\`json\n${json}\n\`\`\`\n`].map(at)).toEqual([said, said]);
    const whole = saidBy({ json_path: '$' });
    expect(whole('{"a": 1, "b": {"d": 2, "c": 3}}')).toBe(whole('{"b": {"c": 3, "d": 2}, "a": 1}'));
    expect(['{"result": {}}', 'no JSON', `${json} and more`].map(at)).toEqual([null, null, null]);
    // Too much for a path that goes through all of it for each of its values.
    const every = saidBy({ json_path: '$[?count($[*]) > 1]' });
    expect(every('[1, 2]')).toBe('[1,2]');
    expect(every(JSON.stringify(Array(10 ** 5).fill(1)))).toBeNull();
    expect(saidBy({ json_path: '$..a' })('['.repeat(10 ** 5))).toBeNull();
  });

  it('is its result without an expression', () => {
    expect(saidBy({})('So it is 7.')).toBe('7');
  });
});

describe('the configuration', () => {
  it.each([
    [{ regex: '(' }, 'Unterminated group'],
    [{ regex: 'a(?=b)' }, 'a lookahead, (?='],
    [{ json_path: '$[?search(@.a, "(a+)+$")]' }, 'the function search is not supported'],
    [{ json_path: '$[?length(@.a) > 1 && match(@.a, @.b)]' }, 'the function match is not supported'],
    [{ json_path: '$..*..*..*' }, 'has 3 of .. and of $'],
    [{ json_path: '$[?$[?count($..a) > 1]]' }, 'has 3 of .. and of $'],
    [{ json_path: 'result' }, 'xpected'],
    [{ regex: 'a', json_path: '$' }, 'regex is not possible with json_path'],
    [{ regexp: 'a' }, 'Unrecognized key'],
  ])('of %j is refused', (config, problem) => {
    expect(voteSchema.safeParse(config).error?.message).toContain(problem);
  });
});
