import { expect, it } from 'vitest';
import { delaysOf } from '#lab/evidence/delays.js';

const NONE = Number.NEGATIVE_INFINITY;

it('spikes are found at their token, and steps by their sum at their end', () => {
  // Of ten ordinary steps one may be found: a token above 8, or a sum above 16.
  const ordinary = Array.from({ length: 10 }, (_, i) => [i, i]);
  const wrong = [
    [1, 9, 1, 9], // a spike at its second token, and a sum of 20
    [5, 5, 5, 5], // a sum of 20 alone
    [1, 8.5], // a spike alone
    [8, 8], // as high as an ordinary one
    [NONE, NONE], // skipped as a whole
  ];
  expect(delaysOf({ ordinary, wrong }, 0.1)).toEqual({ spikes: [2, 2], flags: [4, 4] });
  expect(delaysOf({ ordinary: [], wrong }, 0.1)).toEqual({ spikes: [], flags: [] });
});
