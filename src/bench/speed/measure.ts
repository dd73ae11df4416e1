import { medianSorted, quantileSorted } from 'simple-statistics';

export interface Sample {
  /** Milliseconds. */
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly runs: number;
}

function summarize(times: readonly number[]): Sample {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    median: medianSorted(sorted),
    p10: quantileSorted(sorted, 0.1),
    p90: quantileSorted(sorted, 0.9),
    runs: sorted.length,
  };
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/**
 * Times several variants in turn, round after round, so that what else the machine does meets all of them alike.
 * The first round warms up and is not counted.
 */
export async function interleave<Name extends string>(
  rounds: number,
  variants: Readonly<Record<Name, () => Promise<unknown>>>,
): Promise<Record<Name, Sample>> {
  const names = Object.keys(variants).filter((name): name is Name => name in variants);
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const elapsed = await time(variants[name]);
      if (round > 0) times.get(name)!.push(elapsed);
    }
  }
  const result: Partial<Record<Name, Sample>> = {};
  for (const [name, values] of times) result[name] = summarize(values);
  return complete(result, names);
}

function complete<Name extends string>(
  partial: Partial<Record<Name, Sample>>,
  names: readonly Name[],
): Record<Name, Sample> {
  const whole = (value: Partial<Record<Name, Sample>>): value is Record<Name, Sample> =>
    names.every((name) => value[name] !== undefined);
  if (!whole(partial)) throw new Error('bench: a variant was not measured');
  return partial;
}
