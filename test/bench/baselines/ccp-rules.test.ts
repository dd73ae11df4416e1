import { describe, expect, it } from 'vitest';
import { isFunctionalByRules, relateByRules } from '#bench/baselines/ccp-rules.js';

describe('relateByRules', () => {
  it.each([
    ['the same word in another case, with punctuation', ' Six', 'six,', 'entail'],
    ['full-width and plain digits', ' ７', '7', 'entail'],
    ['equal numbers', ' 1,000', '1000.0', 'entail'],
    ['a number and its word', ' six', ' 6', 'entail'],
    ['a percentage and its fraction', '50%', '0.5', 'entail'],
    ['different numbers', ' 6', ' 4', 'contra'],
    ['a number and its negative', '-5', '5', 'contra'],
    ['different operators', ' +', ' -', 'contra'],
    ['an operator and its command', ' ×', '\\times', 'entail'],
    ['relations', '≤', ' >', 'contra'],
    ['different commands', '\\frac', '\\sqrt', 'contra'],
    ['opposites', ' True', ' false', 'contra'],
    ['opposites the other way round', ' right', ' Left', 'contra'],
    ['unrelated words', ' house', ' garden', 'neutral'],
    ['a number and a word', ' 6', ' house', 'neutral'],
    ['a stop word', ' six', ' the', 'neutral'],
    ['an operator and a number', '+', '5', 'neutral'],
  ] as const)('%s: %j, %j', (_, text, other, relation) => {
    expect(relateByRules(text, other, 'It is')).toBe(relation);
    expect(relateByRules(other, text, 'It is')).toBe(relation);
  });

  it('takes what goes on with a word for a piece of it, which has no opposite', () => {
    expect(relateByRules('true', 'false', 'un')).toBe('neutral');
    expect(relateByRules('true', 'false', 'is ')).toBe('contra');
  });
});

it('function words with an opposite have a meaning', () => {
  expect([' No', ' before', 'After', ' more', ' can', ' and', ' the'].map(isFunctionalByRules)).toEqual([
    ...new Array<boolean>(6).fill(false),
    true,
  ]);
});

it('operators have a meaning, other punctuation and function words have none', () => {
  expect([' +', '≤', ' (', '\n', ' the', ' house', '7'].map(isFunctionalByRules)).toEqual([
    false,
    false,
    true,
    true,
    true,
    false,
    false,
  ]);
});
