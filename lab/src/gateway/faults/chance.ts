import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/**
 * Random source of one part of a run, with its own seed, so that it does not depend on the timing of the
 * others.
 */
export class Chance {
  readonly #random;

  constructor(seed: number) {
    this.#random = xoroshiro128plus(seed);
  }

  /** A random integer, both ends included. */
  integer(low: number, high: number): number {
    return uniformInt(this.#random, low, high);
  }

  of<T>(list: readonly T[]): T {
    const one = list[this.integer(0, list.length - 1)];
    if (one === undefined) throw new RangeError('nothing to choose from');
    return one;
  }
}
