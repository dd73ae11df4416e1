/** Range of UTF-16 code units, with the start and without the end, as in `slice`. */
export type Span = readonly [start: number, end: number];

/**
 * The step that the verifier's span is in: the one that it overlaps most, the earliest of equals. Where it overlaps none,
 * as a last line of white space, the last step before it.
 * @param steps where each is in the response, in the units of the span
 * @returns `null` where nothing is wrong, or there is no step
 */
export function firstWrongStep(span: Span | null, steps: readonly Span[]): number | null {
  if (!span || steps.length === 0) return null;
  const overlaps = steps.map(([start, end]) => Math.min(end, span[1]) - Math.max(start, span[0]));
  const largest = Math.max(...overlaps);
  if (largest > 0) return overlaps.indexOf(largest);
  return Math.max(
    0,
    steps.findLastIndex(([start]) => start <= span[0]),
  );
}
