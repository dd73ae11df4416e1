/** A number that was measured, and its 95 % interval; `null` where it has none. */
export interface Estimate {
  readonly value: number;
  readonly interval: readonly [low: number, high: number] | null;
}

/** Formats an estimate as `0.87 [0.81, 0.92]`. */
export function formatEstimate({ value, interval }: Estimate, digits = 3): string {
  if (!Number.isFinite(value)) return '–';
  const [low, high] = interval?.map((end) => end.toFixed(digits)) ?? [];
  return interval ? `${value.toFixed(digits)} [${low}, ${high}]` : value.toFixed(digits);
}
