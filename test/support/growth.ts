/** Factor of the number of items. Quadratic work then takes 16 times as long. */
const TIMES = 4;
/** Limit between linear (4) and quadratic growth (16). */
export const MOST_GROWTH = 7;
const TRIES = 3;

/**
 * Factor of the processor time for four times as many items.
 * @param otherMs constant that is added, for work so small that other things take longer
 */
export async function growthOf(
  work: (count: number) => unknown,
  few: number,
  otherMs: number,
): Promise<number> {
  const taken = async (count: number): Promise<number> => {
    const from = process.cpuUsage();
    await work(count);
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1000;
  };
  let least = Number.POSITIVE_INFINITY;
  // The first run, or one beside other work, may take longer.
  for (let tries = 0; tries < TRIES && least >= MOST_GROWTH; tries++) {
    const ms = Math.min(await taken(few), await taken(few)) + otherMs;
    least = Math.min(least, (await taken(TIMES * few)) / ms);
  }
  return least;
}
