import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

/** A random integer, both ends included. */
export const integer = (random: RandomGenerator, from: number, to: number): number =>
  uniformInt(random, from, to);

export const chance = (random: RandomGenerator, probability: number): boolean =>
  uniformFloat64(random) < probability;

/** A random item of a list of at least one; an item that is in it twice is twice as likely. */
export function choice<T>(random: RandomGenerator, items: readonly T[]): T {
  return items[integer(random, 0, items.length - 1)]!;
}

/** `count` different items, in random order. */
export function sample<T>(random: RandomGenerator, items: readonly T[], count: number): T[] {
  const rest = [...items];
  return Array.from({ length: count }, () => rest.splice(integer(random, 0, rest.length - 1), 1)[0]!);
}
