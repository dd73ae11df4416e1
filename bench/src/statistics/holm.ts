/**
 * P-values adjusted for how many tests they are of: as each is compared with a level, the chance of any false rejection
 * stays below that level (Holm, Scandinavian Journal of Statistics 6 (1979) 65).
 * @returns in the order of the tests
 */
export function holm(pValues: readonly number[]): number[] {
  const adjusted = new Array<number>(pValues.length);
  let largest = 0;
  const ascending = [...pValues.keys()].sort((a, b) => pValues[a]! - pValues[b]!);
  for (const [i, test] of ascending.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues.length - i) * pValues[test]!));
    adjusted[test] = largest;
  }
  return adjusted;
}
