import { expect, it } from 'vitest';
import { limited } from '#bench/run/run-problems.js';
import { problemOf } from '../../support/bench-records.js';

it('a limit takes as many of each subset, in their order', () => {
  const problems = ['a', 'a', 'a', 'b', 'b'].map((subset, i) => problemOf(`${i}`, { subset }));
  const idsOf = (limit: number | null) => limited(problems, limit).map(({ id }) => id);
  expect(idsOf(3)).toEqual(['0', '1', '3']);
  expect(idsOf(null)).toEqual(['0', '1', '2', '3', '4']);
  expect(idsOf(9)).toEqual(idsOf(null));
});
