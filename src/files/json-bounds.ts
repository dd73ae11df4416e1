/** What goes into a value level by level, such as printing it, is recursive. */
const MAX_LEVELS = 1000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * What a JSON text has too much of to be parsed; `null` for nothing. A string takes about as much memory as it is long.
 * Any other value takes up to 100 bytes, and so does the name of a field; both may be two characters of the text.
 *
 * @param most how many names and values there may be
 */
export function excessOf(json: string, most: number): string | null {
  let [levels, values] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    // "[" and "{" differ in one bit, and so do "]" and "}".
    const bracket = code | 0x20;
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COMMA || code === COLON) values += 1;
    else if (bracket === 0x7b) {
      levels += 1;
      values += 1;
      if (levels > MAX_LEVELS) return `nests deeper than ${MAX_LEVELS} levels`;
    } else if (bracket === 0x7d) levels -= 1;
    if (values > most) return `has more than ${most} names and values`;
  }
  return null;
}

/** Where the string that begins at `at` ends. */
function endOfString(json: string, at: number): number {
  let end = at;
  do end = json.indexOf('"', end + 1);
  while (end > 0 && isEscaped(json, end));
  return end < 0 ? json.length : end;
}

function isEscaped(json: string, at: number): boolean {
  let start = at;
  while (json.charCodeAt(start - 1) === BACKSLASH) start -= 1;
  return (at - start) % 2 === 1;
}
