import { from, lastValueFrom, Subject, take, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { flatMap } from '#src/stream/flat-map.js';
import { expectMarbles } from '../support/marbles.js';

const listed = flatMap((digits: string) => [...digits]);

describe('flatMap', () => {
  it('makes each value those of a list, at once and in their order', () => {
    expectMarbles((source) => source.pipe(listed), {
      source: '--a---b-c|',
      expected: '--(12)--3|',
      inputs: { a: '12', b: '', c: '3' },
      outputs: { 1: '1', 2: '2', 3: '3' },
    });
  });

  it('passes on an error, and ends with one where the list cannot be made', () => {
    const marbles = { source: 'a-#', inputs: { a: '1' }, outputs: { 1: '1' } };
    expectMarbles((source) => source.pipe(listed), { ...marbles, expected: '1-#' });
    const error = new Error('no list');
    const failing = flatMap((): string[] => {
      throw error;
    });
    expectMarbles((source) => source.pipe(failing), { ...marbles, expected: '#', error });
  });

  it('gives no more, and leaves its source, once nobody listens', async () => {
    const seen: string[] = [];
    const watched = flatMap((digits: string) => {
      seen.push(digits);
      return [...digits];
    });
    const all = lastValueFrom(from(['12', '34', '56']).pipe(watched, take(3), toArray()));
    expect(await all).toEqual(['1', '2', '3']);
    expect(seen).toEqual(['12', '34']);
    const source = new Subject<string>();
    source.pipe(listed).subscribe().unsubscribe();
    expect(source.observed).toBe(false);
  });
});
