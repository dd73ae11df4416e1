/** What is recursive here, such as printing JSON, takes three times as much. */
const MAX_DEPTH = 1000;
/** All of them are read at once, and nothing else runs meanwhile. */
export const MAX_FIELDS = 4096;
const MAX_VALUES = 65_536;

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * What a JSON text has too much of to be parsed, checked and printed in the time that others can wait; `null` for
 * nothing. Texts and numbers of any size cost little; levels, fields of one object, and lists and objects cost much.
 */
export function excessOf(json: string): string | null {
  if (json.length <= 2 * MAX_DEPTH) return null;
  /** Fields of each object that is open. */
  const fields = new Uint32Array(MAX_DEPTH + 1);
  let depth = 0;
  let opened = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    // "[" and "{" differ in one bit, and so do "]" and "}".
    const bracket = code | 0x20;
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COLON) {
      fields[depth]! += 1;
      if (fields[depth]! > MAX_FIELDS) return `has more than ${MAX_FIELDS} fields in one object`;
    } else if (bracket === 0x7b) {
      depth += 1;
      opened += 1;
      if (depth > MAX_DEPTH) return `nests deeper than ${MAX_DEPTH} levels`;
      if (opened > MAX_VALUES) return `has more than ${MAX_VALUES} lists and objects`;
      fields[depth] = 0;
    } else if (bracket === 0x7d) depth = Math.max(0, depth - 1);
  }
  return null;
}

/** Where the string that begins at `at` ends. Most are longer than the search for their end takes. */
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
