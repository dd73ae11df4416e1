import { hash32 } from 'flinch/internals';

/**
 * The seed of a problem's response (0), or of a further one: it depends on the problem alone, not on how many were asked
 * before, so that any part of a run draws what the whole would.
 * @returns a 32-bit integer
 */
export const seedOf = (seed: number, id: string, sample = 0): number =>
  hash32(seed, sample, ...Buffer.from(id));
