/** Makes work say how many milliseconds it took. */
export const timed = (work: () => Promise<unknown>) => async (): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/**
 * Times variants in turn, round after round, so that what else the machine does meets all of them alike. The first round
 * warms up and is not counted.
 * @param variants each runs once and returns its time in milliseconds, which may be that of a part of it
 * @returns the fastest of each: what else a shared machine does only ever adds time
 */
export async function fastest(
  rounds: number,
  variants: readonly (() => Promise<number>)[],
): Promise<readonly number[]> {
  const best = variants.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, variant] of variants.entries()) {
      const ms = await variant();
      if (round > 0) best[i] = Math.min(best[i]!, ms);
    }
  }
  return best;
}
