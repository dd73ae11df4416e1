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
  const marks = Array.from(run, (mark) => mark.normalize('NFD')).join('');
  const ranks = ranksOf(marks);
  const text: string[] = [];
  let segment: string[] = [];
  const flush = (): void => {
    text.push(segment.sort((a, b) => ranks.get(a)! - ranks.get(b)!).join(''));
    segment = [];
  };
  for (const mark of marks) {
    if (ranks.has(mark)) segment.push(mark);
    else {
      flush();
      text.push(mark);
    }
  }
  flush();
  return text.join('');
}

/** Ranks in the order of Canonical_Combining_Class, which `normalize` shows; none of marks that do not reorder. */
function ranksOf(marks: string): ReadonlyMap<string, number> {
  const ordered = [...new Set(marks)].filter(isOrdered);
  ordered.sort((a, b) => (swaps(a, b) ? 1 : swaps(b, a) ? -1 : 0));
  const ranks = new Map<string, number>();
  let rank = 0;
  for (const [i, mark] of ordered.entries()) {
    if (i > 0 && swaps(mark, ordered[i - 1]!)) rank += 1;
    ranks.set(mark, rank);
  }
  return ranks;
}

const swaps = (a: string, b: string): boolean => (a + b).normalize('NFD') !== a + b;

/** Whether its class is above 0: it trades places with a mark of the lowest or of the highest class. */
const isOrdered = (mark: string): boolean => swaps(mark, '\u0334') || swaps('\u0345', mark);
