import { describe, expect, it } from 'vitest';
import { bestPassages } from '#bench/judge/passages.js';

const PAGE = [
  'Ada Lovelace was a mathematician and writer.',
  'Ada met Charles Babbage in 1833 and wrote about his engine.',
  'Ada was the daughter of Lord Byron.',
  'Ada married William King in 1835; Ada and William had three children, and Ada wrote to friends.',
];

describe('bestPassages', () => {
  it('are all where there are few', () => {
    expect(bestPassages(PAGE, 'anything', 4)).toEqual(PAGE);
    expect(bestPassages([], 'anything')).toEqual([]);
  });

  it('have the words of the claim, the rarer the better', () => {
    expect(bestPassages(PAGE, 'Ada Lovelace: She was the daughter of Byron.', 1)).toEqual([PAGE[2]]);
    expect(bestPassages(PAGE, 'Ada wrote of an ENGINE', 1)).toEqual([PAGE[1]]);
  });

  it('stand in their own order', () => {
    expect(bestPassages(PAGE, 'William King, the daughter', 2)).toEqual([PAGE[2], PAGE[3]]);
  });

  it('prefer the shorter one of two with the same words', () => {
    const [long, short] = ['Byron was here, and there, and in many other places too.', 'Byron was here.'];
    expect(bestPassages([long!, 'Nothing.', short!], 'Byron', 1)).toEqual([short]);
  });
});
