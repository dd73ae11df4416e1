/** How many inputs are drawn, and from which seed. */
export interface Limits {
  readonly numRuns: number;
  readonly interruptAfterTimeLimit?: number;
  readonly seed: number;
}

/** By hand (`npm run fuzz`): each target for so long. */
const { FUZZ_MINUTES, FUZZ_SEED } = process.env;

/** The same inputs in each run of `npm test`. */
export const byCount = (numRuns: number): Limits => ({ numRuns, seed: 1 });

/** Other inputs in each run, until the time is over. */
export const byTime = (seconds: number): Limits => ({
  numRuns: 2 ** 31,
  interruptAfterTimeLimit: 1000 * (FUZZ_MINUTES ? 60 * Number(FUZZ_MINUTES) : seconds),
  seed: FUZZ_SEED ? Number(FUZZ_SEED) : Date.now() % 2 ** 31,
});
