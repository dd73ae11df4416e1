/**
 * The highest of a column, which a table marks; `null` where more than half of several share it, as where there is one
 * case: a mark on nearly all tells nothing.
 */
export function best(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length === 0) return null;
  const highest = Math.max(...known);
  const ties = known.filter((value) => value === highest).length;
  return ties > 1 && 2 * ties > known.length ? null : highest;
}
