/** Number of combining marks in a row that `String.prototype.normalize` sorts fast. */
const FEW = 32;
const LONG_RUN = /\p{M}{33,}/gu;

/**
 * Parts of a text that are composed one by one: no character composes with one of another part. What may compose with
 * the character before it (Unicode `NFC_Quick_Check=Maybe`) are marks, and vowels and finals of Hangul and Kirat Rai.
 */
const PARTS =
  /[^\p{M}\u1161-\u1175\u11a8-\u11c2\u{16d63}-\u{16d6a}]?[\p{M}\u1161-\u1175\u11a8-\u11c2\u{16d63}-\u{16d6a}]*/gu;

/** Unicode NFC in linear time. */
export const compose = (text: string): string => inCanonicalOrder(text).normalize('NFC');

/** The parts of a text that {@link compose} takes one by one. */
export const composedParts = (text: string): string[] =>
  (text.match(PARTS) ?? []).filter((part) => part !== '');

/**
 * A canonically equivalent text in which long runs of combining marks are in canonical order. `normalize` (ICU) sorts
 * them by insertion, which takes quadratic time: 33 s for half a megabyte. Of the result it makes the same.
 */
export const inCanonicalOrder = (text: string): string =>
  text.length > FEW ? text.replace(LONG_RUN, sorted) : text;

/** Each mark by itself is decomposed; marks of class 0 stay where they are, and others do not pass them. */
function sorted(run: string): string {
  const text: string[] = [];
  let byClass = new Map<number, string[]>();
  const flush = (): void => {
    for (const key of [...byClass.keys()].sort((a, b) => a - b)) text.push((byClass.get(key) ?? []).join(''));
    byClass = new Map();
  };
  for (const part of run) {
    for (const mark of part.normalize('NFD')) {
      const key = classOf(mark);
      if (key === 0) {
        flush();
        text.push(mark);
        continue;
      }
      const same = byClass.get(key);
      if (same) same.push(mark);
      else byClass.set(key, [mark]);
    }
  }
  flush();
  return text.join('');
}

let classes: ReadonlyMap<string, number> | null = null;

/**
 * Rank in the order of Unicode's Canonical_Combining_Class; 0 for marks that do not reorder, and for other
 * characters.
 */
function classOf(mark: string): number {
  classes ??= combiningClasses();
  return classes.get(mark) ?? 0;
}

/** JavaScript does not tell the class of a mark, but `normalize` shows which of two comes first. */
function combiningClasses(): ReadonlyMap<string, number> {
  const marks: string[] = [];
  for (let code = 0x300; code <= 0x1ffff; code++) {
    const char = String.fromCodePoint(code);
    if (/\p{M}/u.test(char) && char.normalize('NFD') === char && isOrdered(char)) marks.push(char);
  }
  marks.sort((a, b) => (swaps(a, b) ? 1 : swaps(b, a) ? -1 : 0));
  const found = new Map<string, number>();
  let [last, before] = [0, ''];
  for (const mark of marks) {
    if (before === '' || swaps(mark, before)) last += 1;
    found.set(mark, last);
    before = mark;
  }
  return found;
}

const swaps = (a: string, b: string): boolean => (a + b).normalize('NFD') !== a + b;

/** Whether its class is above 0: it trades places with a mark of the lowest or of the highest class. */
const isOrdered = (mark: string): boolean => swaps(mark, '\u0334') || swaps('\u0345', mark);
