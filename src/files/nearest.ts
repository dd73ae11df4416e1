/** Edits and characters beyond which two names are not one that was mistyped, as commander has them. */
const MOST_EDITS = 3;
const LEAST_ALIKE = 0.4;
const MOST_CHARACTERS = 100;

/** The candidate that was probably meant: the one that takes the fewest edits (Levenshtein distance), if these are few. */
export function nearest(name: string, candidates: readonly string[]): string | null {
  if (name.length > MOST_CHARACTERS) return null;
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .filter(({ candidate, edits }) => edits <= MOST_EDITS && alike(name, candidate, edits) > LEAST_ALIKE)
    .sort((a, b) => a.edits - b.edits);
  return best?.candidate ?? null;
}

/** Share of the characters that stay. */
const alike = (a: string, b: string, edits: number): number => 1 - edits / Math.max(a.length, b.length);

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = row[j]! + (letter === b[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
