import { linearRegression, median } from 'simple-statistics';

/** Private memory in bytes at one moment; `null` where the system does not tell, or the process is gone. */
export interface MemorySample {
  readonly seconds: number;
  readonly decode: number | null;
  readonly score: number | null;
  readonly parent: number | null;
}

export const PROCESSES = ['decode', 'score', 'parent'] as const;
export type ProcessName = (typeof PROCESSES)[number];

export interface Growth {
  /**
   * Medians of the first and of the last minute that count (or quarter, if that is shorter), bytes: single samples go
   * up and down with the load.
   */
  readonly before: number;
  readonly after: number;
  /** Slope of the straight line through all that count. */
  readonly bytesPerHour: number;
}

const MINUTE = 60;

/** How much one of the processes has grown: {@link growth}. */
export function growthOf(
  samples: readonly MemorySample[],
  process: ProcessName,
  from: number,
): Growth | null {
  const known = samples.flatMap((sample) => {
    const bytes = sample[process];
    return bytes === null ? [] : [{ seconds: sample.seconds, bytes }];
  });
  return growth(known, from);
}

/**
 * How much memory has grown since a process warmed up.
 * @param from seconds after which samples count
 * @returns `null` where fewer than two samples do
 */
export function growth(
  samples: readonly { readonly seconds: number; readonly bytes: number }[],
  from: number,
): Growth | null {
  const points = samples.filter(({ seconds }) => seconds >= from);
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last || first === last) return null;
  const width = Math.min(MINUTE, (last.seconds - first.seconds) / 4);
  const within = (start: number, end: number): number =>
    median(points.filter(({ seconds }) => seconds >= start && seconds <= end).map(({ bytes }) => bytes));
  const line = linearRegression(points.map(({ seconds, bytes }) => [seconds, bytes]));
  return {
    before: within(first.seconds, first.seconds + width),
    after: within(last.seconds - width, last.seconds),
    bytesPerHour: 60 * MINUTE * line.m,
  };
}
