export interface Backoff {
  /** The longest first wait. */
  readonly firstMs: number;
  /** The longest of all. */
  readonly maxMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 500, maxMs: 15_000 };

/**
 * How long to wait before the next try: anything up to a bound that doubles with each failure. With all of the wait
 * left to chance, clients that lost the same server do not come back at the same time (M. Brooker, "Exponential Backoff
 * And Jitter", AWS Architecture Blog 2015: "full jitter").
 * @param failures tries that failed so far, without one that succeeded between them
 * @param random a number from 0 to less than 1
 */
export const fullJitter = (failures: number, { firstMs, maxMs }: Backoff, random: number): number =>
  random * Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
