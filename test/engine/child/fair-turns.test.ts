import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairTurns } from '#src/engine/child/fair-turns.js';

describe('FairTurns', () => {
  it('gives clients that always have work the same time, whatever their turns take', () => {
    const costs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(costs, (times) => {
        const turns = new FairTurns();
        const clients = times.map((_, i) => String(i));
        const had = times.map(() => 0);
        for (let i = 0; i < 500; i++) {
          const next = Number(turns.next(clients));
          turns.charge([String(next)], times[next]!);
          had[next]! += times[next]!;
        }
        expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(2 * Math.max(...times));
      }),
    );
  });

  it('lets who comes back go next, without what was missed', () => {
    const turns = new FairTurns();
    for (let i = 0; i < 100; i++) turns.charge([turns.next(['greedy'])!], 10);
    const order = Array.from({ length: 6 }, () => {
      const next = turns.next(['greedy', 'modest'])!;
      turns.charge([next], 10);
      return next;
    });
    expect(order).toEqual(['modest', 'greedy', 'modest', 'greedy', 'modest', 'greedy']);
  });

  it('is nobody’s where nothing waits', () => {
    expect(new FairTurns().next([])).toBeUndefined();
  });
});
