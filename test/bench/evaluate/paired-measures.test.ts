import { describe, expect, it } from 'vitest';
import type { Hits } from '#bench/evaluate/hits.js';
import { pairedHits } from '#bench/evaluate/paired-measures.js';

const hits = (measure: string, aggregation: Hits['aggregation'], wins: number): Hits => ({
  measure,
  aggregation,
  metrics: { top1: Array.from({ length: 20 }, (_, i) => Number(i < wins)) },
});
const compared = (all: readonly Hits[]) =>
  pairedHits('step', all, 'adversarial', { resamples: 100, seed: 1 }).map(
    ({ b, aggregation, p, adjusted, tests }) => ({
      name: `${b} ${aggregation}`,
      p,
      adjusted,
      tests,
    }),
  );

describe('paired comparisons', () => {
  const usual = [hits('adversarial', 'sum', 20), hits('nll', 'sum', 10), hits('ccp', 'own', 12)];

  it('are corrected for as many as there are', () => {
    const rows = compared(usual);
    expect(rows.map(({ name, tests }) => [name, tests])).toEqual([
      ['nll sum', 2],
      ['ccp own', 2],
    ]);
    expect(rows[0]!.adjusted).toBeCloseTo(2 * rows[0]!.p, 12);
  });

  it('leave out the sum of a measure that has a score of its own, not its other aggregations', () => {
    const rows = compared([
      ...usual,
      hits('ccp', 'sum', 12),
      hits('adversarial', 'max', 9),
      hits('ccp', 'max', 8),
    ]);
    expect(rows.map(({ name }) => name)).toEqual(['nll sum', 'ccp own', 'ccp max']);
    expect(rows.map(({ tests }) => tests)).toEqual([2, 2, 1]);
  });

  it('with other settings take nothing from those with the usual ones', () => {
    const variants = [1, 2, 3, 4].map((i) => hits(`adversarial:alpha=${i}`, 'sum', 20 - i));
    const rows = compared([...usual, ...variants]);
    expect(rows.slice(0, 2)).toEqual(compared(usual));
    expect(rows.slice(2).every(({ tests }) => tests === 4)).toBe(true);
  });
});
