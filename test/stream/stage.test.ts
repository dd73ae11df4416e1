import fc from 'fast-check';
import { firstValueFrom, map, Observable, of, take, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { fused, staged } from '#src/stream/stage.js';

/** Each number as many times as it says, and their sum in the end. */
const repeated = staged<number, number>((emit) => {
  let sum = 0;
  return {
    next: (n) => {
      sum += n;
      for (let i = 0; i < n; i++) emit(n);
    },
    end: () => emit(sum),
  };
});

/** The sums of pairs; one that is left over comes in the end. */
const paired = staged<number, number>((emit) => {
  let first: number | null = null;
  return {
    next: (n) => {
      if (first === null) first = n;
      else {
        emit(first + n);
        first = null;
      }
    },
    end: () => first !== null && emit(first),
  };
});

const all = <T>(events: Observable<T>): Promise<T[]> => firstValueFrom(events.pipe(toArray()));

describe('an operator with a stage', () => {
  it('passes on what the stage does, for each subscription anew', async () => {
    const events = of(2, 1).pipe(repeated);
    expect(await all(events)).toEqual([2, 2, 1, 3]);
    expect(await all(events)).toEqual([2, 2, 1, 3]);
  });

  it('fails with what the stage throws, and asks it nothing more', async () => {
    const asked: number[] = [];
    const failing = staged<number, number>(() => ({
      next: (n) => {
        asked.push(n);
        if (n === 2) throw new RangeError('two');
      },
    }));
    await expect(all(of(1, 2, 3).pipe(failing))).rejects.toThrow('two');
    expect(asked).toEqual([1, 2]);
  });

  it('fails with what the end throws', async () => {
    const open = () => ({
      next: () => {},
      end: () => {
        throw new RangeError('the end');
      },
    });
    await expect(all(of(1).pipe(staged<number, number>(open)))).rejects.toThrow('the end');
  });

  it('leaves its source with its subscriber', async () => {
    let left = false;
    const source = new Observable<number>((subscriber) => {
      subscriber.next(1);
      return () => {
        left = true;
      };
    });
    expect(await all(source.pipe(repeated, take(1)))).toEqual([1]);
    expect(left).toBe(true);
  });
});

describe('one operator after another', () => {
  it('says what both say, one with a stage or not', async () => {
    const half = map((n: number) => n / 2);
    const property = fc.asyncProperty(fc.array(fc.nat(4)), async (numbers) => {
      const source = of(...numbers);
      for (const [first, second] of [
        [repeated, paired],
        [paired, repeated],
        [fused(repeated, paired), repeated],
        [repeated, half],
        [half, paired],
      ] as const) {
        expect(await all(source.pipe(fused(first, second)))).toEqual(await all(source.pipe(first, second)));
      }
    });
    await fc.assert(property, { numRuns: 50 });
  });
});
