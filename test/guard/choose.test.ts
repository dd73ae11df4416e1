import { describe, expect, it } from 'vitest';
import { lowestUncertainty, majority, stepContent } from '#src/index.js';

const candidate = (text: string, score: number | null = 0.5, tokens = 4) => ({ text, score, tokens });

describe('lowestUncertainty', () => {
  it('takes the lowest mean score', () => {
    expect(lowestUncertainty([candidate('a', 0.3), candidate('b', -0.1), candidate('c', 0.2)])).toBe(1);
  });

  it('takes a candidate without scores for sure, as the schedule skipped all of it', () => {
    expect(lowestUncertainty([candidate('a', 0.3), candidate('b', null)])).toBe(1);
  });

  it('takes one without tokens last', () => {
    expect(lowestUncertainty([candidate('', null, 0), candidate('b', 9)])).toBe(1);
  });
});

describe('majority', () => {
  it('takes what most say, in whichever words, and of those the surest', () => {
    const texts = ['So 2 + 3 = 6.', 'We add: 2 + 3 = 5.', 'Then 2+3 = 5.\n'];
    const candidates = texts.map((text, i) => candidate(text, [0, 0.4, 0.2][i]));
    expect(majority()(candidates)).toBe(2);
  });

  it('keeps the flagged step where most say the same, however unsure it is', () => {
    const texts = ['So 2 + 3 = 5.', 'We add: 2 + 3 = 5.', 'Then 2+3 = 6.\n'];
    expect(majority()(texts.map((text, i) => candidate(text, [0.9, 0.4, 0.2][i])))).toBe(0);
  });

  it('gives a candidate without a token no vote', () => {
    const empty = candidate('', null, 0);
    expect(majority()([candidate('x = 1', 0.9), empty, empty])).toBe(0);
    expect(majority()([empty, empty])).toBe(0);
  });

  it('goes by the scores when no two say the same', () => {
    expect(majority()([candidate('x = 1', 0.3), candidate('x = 2', 0.1), candidate('x = 3', 0.2)])).toBe(1);
  });

  it('compares what it is told to compare', () => {
    const last = (text: string): string => text.at(-1) ?? '';
    expect(majority(last)([candidate('a1', 0.1), candidate('b2', 0.3), candidate('c2', 0.2)])).toBe(2);
  });
});

describe('stepContent', () => {
  it.each([
    ['Then we add: 35 + 12 = 47.', 'Adding gives 35+12 = 47'],
    ['So the answer is 12.', 'Therefore the answer is: 12'],
    ['After Ada and Ben swap: Ada red, Ben blue.', 'Ada and Ben swap, so: Ada red, Ben blue.\n'],
    ['Then x = 3 and y = 4.', 'x = 3, y = 4'],
    ['We get 7 − 9 = −2.', '7 - 9 = -2'],
    ['So f(x) = 2x + 1, and f(3) = 7.', 'f(x) = 2x + 1; f(3) = 7'],
  ])('is the same for %j and %j', (a, b) => {
    expect(stepContent(a)).toBe(stepContent(b));
  });

  it.each(['-'.repeat(5000), 'a/'.repeat(5000), '= '.repeat(5000), `${'('.repeat(5000)}1`])(
    'is found in a time that grows with the length: %.10s…',
    (text) => {
      expect(stepContent(text).length).toBeLessThanOrEqual(2 * text.length);
    },
  );

  it.each([
    ['35 + 12 = 47', '35 + 12 = 57'],
    ['35 + 12 = 47', '35 - 12 = 47'],
    ['Zoe lies.', 'Zoe tells the truth.'],
    ['We are at (3, 4) north.', 'We are at (3, 4) south.'],
    ['We are at (3, 4) north.', 'We are at (3, -4) north.'],
    ['The answer is 12.', 'The answer is 1.2.'],
    ['total = 1,200', 'total = 1,900'],
    ['position = (3, 4)', 'position = (3, 9)'],
    ['x = 5: then y is 7', 'x = 5: then y is 9'],
    ['It is A.', 'It is so.'],
    ['It is A.', 'It is B.'],
    ['5 > 3', '5 < 3'],
  ])('differs for %j and %j', (a, b) => {
    expect(stepContent(a)).not.toBe(stepContent(b));
  });
});
