/**
 * Where the first stop string begins in a text that is still growing.
 * @returns `found`: index of the earliest complete stop string, or `null`; `safe`: how many characters from the
 *   start can no longer become part of one
 */
export function findStop(text: string, stops: readonly string[]): { found: number | null; safe: number } {
  const starts = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
  if (starts.length > 0) {
    const found = Math.min(...starts);
    return { found, safe: found };
  }
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let start = Math.max(0, text.length - longest); start < text.length; start++) {
    const tail = text.slice(start);
    if (stops.some((stop) => stop.startsWith(tail))) return { found: null, safe: start };
  }
  return { found: null, safe: text.length };
}
