/** How many times as many there are. What is copied or looked through for each then takes 16 times as long. */
const TIMES = 4;
/** Between the two, as far as it takes more than other things do. */
export const MOST_GROWTH = 7;
const TRIES = 3;

/**
 * How many times as long something takes for four times as many of what it is given, in processor time.
 * @param otherMs of what takes next to nothing, other things take more
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
  // What runs for the first time, or beside something else, may take longer.
  for (let tries = 0; tries < TRIES && least >= MOST_GROWTH; tries++) {
    const ms = Math.min(await taken(few), await taken(few)) + otherMs;
    least = Math.min(least, (await taken(TIMES * few)) / ms);
  }
  return least;
}
