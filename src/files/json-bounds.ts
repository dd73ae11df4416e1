/** Levels of a JSON value: operations such as printing it are recursive. */
export const MAX_LEVELS = 1000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

const UNBOUNDED = Number.POSITIVE_INFINITY;

/** How much of it there may be. */
export interface JsonBounds {
  /** Names of fields, and values. */
  readonly values?: number;
  /** Fields of one object. */
  readonly fields?: number;
  /** Lists and objects. */
  readonly lists?: number;
}

/**
 * Reason why a JSON text is too large to be parsed; `null` if it is not. A string takes about as much memory
 * as it is long. Any other value takes up to 100 bytes, and so does the name of a field; both may be two
 * characters of the text.
 */
export function excessOf(
  json: string,
  { values = UNBOUNDED, fields = UNBOUNDED, lists = UNBOUNDED }: JsonBounds,
): string | null {
  /** Number of names in each object that is open. */
  const names = new Uint32Array(MAX_LEVELS + 1);
  let [level, opened, separators] = [0, 0, 0];
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    // "[" and "{" differ in one bit, and so do "]" and "}".
    const bracket = code | 0x20;
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COMMA) separators += 1;
    else if (code === COLON) {
      separators += 1;
      names[level]! += 1;
      if (names[level]! > fields) return `has more than ${fields} fields in one object`;
    } else if (bracket === 0x7b) {
      level += 1;
      opened += 1;
      if (level > MAX_LEVELS) return `nests deeper than ${MAX_LEVELS} levels`;
      if (opened > lists) return `has more than ${lists} lists and objects`;
      names[level] = 0;
    } else if (bracket === 0x7d) level = Math.max(0, level - 1);
    if (separators + opened > values) return `has more than ${values} names and values`;
  }
  return null;
}

export function endOfString(json: string, at: number): number {
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
