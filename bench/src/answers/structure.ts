/** How an answer is built of others. */
export type Structure =
  | { readonly kind: 'single'; readonly text: string }
  /** Ordered, with its brackets: a tuple, a point, an interval. */
  | {
      readonly kind: 'tuple';
      readonly open: string;
      readonly close: string;
      readonly items: readonly string[];
    }
  /** Items in any order: `1, 2`, `\{1, 2\}`. */
  | { readonly kind: 'list'; readonly items: readonly string[] }
  /** Union of intervals, in any order. */
  | { readonly kind: 'union'; readonly items: readonly string[] }
  | { readonly kind: 'matrix'; readonly determinant: boolean; readonly rows: readonly (readonly string[])[] };

const MATRIX = /^\\begin\{((?:[pbBvV]?matrix)|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$/s;

/** Reads the outermost structure of a plain form. */
export function parseStructure(text: string): Structure {
  const trimmed = text.trim();
  const matrix = MATRIX.exec(trimmed);
  if (matrix && !matrix[2]?.includes('\\begin')) return parseMatrix(matrix[1] ?? '', matrix[2] ?? '');
  const parts = splitTop(trimmed, '\\cup');
  if (parts.length > 1) return { kind: 'union', items: parts };
  const set = /^\\\{(.*)\\\}$/s.exec(trimmed)?.[1];
  if (set !== undefined && closesLast(trimmed)) return { kind: 'list', items: splitTop(set, ',') };
  const [open = '', close = ''] = [trimmed.at(0), trimmed.at(-1)];
  if ('(['.includes(open) && open !== '' && ')]'.includes(close) && closesLast(trimmed)) {
    const items = splitTop(trimmed.slice(1, -1), ',');
    if (items.length > 1) return { kind: 'tuple', open, close, items };
  }
  const items = splitTop(trimmed, ',');
  if (items.length > 1) return { kind: 'list', items };
  return { kind: 'single', text: trimmed };
}

function parseMatrix(environment: string, body: string): Structure {
  const rows = body.split(/\\\\(?:\[[^\]]*\])?|\\cr(?![a-z])/).map((row) => row.trim());
  const filled = rows.at(-1) === '' ? rows.slice(0, -1) : rows;
  return {
    kind: 'matrix',
    determinant: environment === 'vmatrix',
    rows: filled.map((row) => row.split('&').map((cell) => cell.trim())),
  };
}

/** Splits where no bracket is open. Half-open intervals close with the other bracket. */
export function splitTop(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (depth === 0 && text.startsWith(separator, i)) {
      parts.push(text.slice(start, i).trim());
      start = i + separator.length;
      i = start - 1;
    } else depth += bracketStep(text[i] ?? '');
  }
  return [...parts, text.slice(start).trim()];
}

/** Whether the bracket that opens a text is closed by its last character. */
function closesLast(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    depth += bracketStep(text[i] ?? '');
    if (depth === 0 && i > 0) return i === text.length - 1;
  }
  return false;
}

const bracketStep = (character: string): number =>
  '([{'.includes(character) ? 1 : ')]}'.includes(character) ? -1 : 0;
