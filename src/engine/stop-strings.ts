/**
 * Finds the start of the stop string that ends a growing text: the one that is complete first, as if the text
 * came character by character, so that the split into tokens makes no difference; of several that end
 * together the longest.
 * @returns `found`: the index, or `null`; `safe`: how many characters from the start can no longer become part of one
 */
export function findStop(text: string, stops: readonly string[]): { found: number | null; safe: number } {
  const [first] = stops
    .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.end - b.end || a.start - b.start);
  if (first) return { found: first.start, safe: first.start };
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let start = Math.max(0, text.length - longest); start < text.length; start++) {
    const tail = text.slice(start);
    if (stops.some((stop) => stop.startsWith(tail))) return { found: null, safe: start };
  }
  return { found: null, safe: text.length };
}
