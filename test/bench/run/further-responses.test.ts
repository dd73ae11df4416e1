import { describe, expect, it } from 'vitest';
import { comparable } from '#bench/run/stages/further-responses.js';

describe('a further response', () => {
  const text = 'He has 3 pens.\nHe buys 5 mo';
  const agrees = (): boolean => true;

  it('is taken as it is where it came to its end', () => {
    const sample = { text, finish: 'stop', seconds: 1 } as const;
    expect(comparable(sample, 'sentence', agrees)).toEqual({ text, agrees: true, seconds: 1 });
  });

  it('has neither an answer nor the step that it was cut off in', () => {
    const sample = { text, finish: 'length', seconds: 1 } as const;
    expect(comparable(sample, 'sentence', agrees)).toEqual({
      text: 'He has 3 pens.\n',
      agrees: false,
      seconds: 1,
    });
  });
});
