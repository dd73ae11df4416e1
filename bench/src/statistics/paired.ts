/** How two ways did on the same problems. */
export interface PairedCounts {
  readonly both: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly neither: number;
}

/**
 * Counts the problems that both ways, one, or neither got right.
 * @throws RangeError where they are not as many
 */
export function countPairs(first: readonly boolean[], second: readonly boolean[]): PairedCounts {
  if (first.length !== second.length)
    throw new RangeError(`${first.length} results cannot be paired with ${second.length}`);
  const count = (a: boolean, b: boolean): number =>
    first.filter((right, i) => right === a && second[i] === b).length;
  return {
    both: count(true, true),
    onlyFirst: count(true, false),
    onlySecond: count(false, true),
    neither: count(false, false),
  };
}
