import { medianSorted, quantileSorted } from 'simple-statistics';

export interface Sample {
  /** Milliseconds. */
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  /** The fastest run. What else a shared machine does only ever adds time. */
  readonly best: number;
  readonly runs: number;
}

function summarize(times: readonly number[]): Sample {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    median: medianSorted(sorted),
    p10: quantileSorted(sorted, 0.1),
    p90: quantileSorted(sorted, 0.9),
    best: sorted[0]!,
    runs: sorted.length,
  };
}

/** Makes work say how many milliseconds it took. */
export function timed(work: () => Promise<unknown>): () => Promise<number> {
  return async () => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
}

/** {@link interleaveTimed} of work that counts from its beginning to its end. */
export async function interleave<Name extends string>(
  rounds: number,
  variants: Readonly<Record<Name, () => Promise<unknown>>>,
  onRound?: () => void,
): Promise<Record<Name, Sample>> {
  return inTurns(rounds, variants, timed, onRound);
}

/**
 * Times several variants in turn, round after round, so that what else the machine does meets all of them alike.
 * The first round warms up and is not counted.
 * @param variants each runs once and returns its time in milliseconds, which may be that of a part of it
 * @param onRound called `rounds + 1` times
 */
export async function interleaveTimed<Name extends string>(
  rounds: number,
  variants: Readonly<Record<Name, () => Promise<number>>>,
  onRound?: () => void,
): Promise<Record<Name, Sample>> {
  return inTurns(rounds, variants, (variant) => variant, onRound);
}

async function inTurns<Name extends string, Work>(
  rounds: number,
  variants: Readonly<Record<Name, Work>>,
  timing: (work: Work) => () => Promise<number>,
  onRound: () => void = () => {},
): Promise<Record<Name, Sample>> {
  const names = Object.keys(variants).filter((name): name is Name => name in variants);
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const elapsed = await timing(variants[name])();
      if (round > 0) times.get(name)!.push(elapsed);
    }
    onRound();
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
