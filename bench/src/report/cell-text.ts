import type { Cell, EstimateCell } from './document.js';

/** Not measured. */
export const NONE = '–';
/** Measured, but these cases do not define it. */
export const UNDEFINED = 'n/a';

/** A cell's parts as they are read. */
export interface CellText {
  readonly main: string;
  readonly best: boolean;
  readonly interval: string | null;
  readonly n: string | null;
  readonly paper: { readonly text: string; readonly best: boolean } | null;
}

export function cellText(cell: Cell): CellText {
  const plain = { best: false, interval: null, n: null, paper: null };
  if (cell === null) return { main: NONE, ...plain };
  if (typeof cell === 'string') return { main: cell, ...plain };
  if (typeof cell === 'number') return { main: formatNumber(cell), ...plain };
  return 'p' in cell ? { main: formatP(cell.p), ...plain } : estimateText(cell);
}

function estimateText(cell: EstimateCell): CellText {
  const { value, interval, digits, unmeasured, signed, best, n, paper } = cell;
  const write = (number: number): string => fixed(number, digits, signed ?? false);
  return {
    main: value === null ? (unmeasured ? NONE : UNDEFINED) : write(value),
    best: best ?? false,
    interval: interval && `[${interval.map(write).join(', ')}]`,
    n: n === undefined || n === null ? null : `n = ${formatNumber(n)}`,
    paper: paper ? { text: `paper ${fixed(paper.value, paper.digits)}`, best: paper.best } : null,
  };
}

/** Score with so many digits, or in powers of ten. */
export const formatScore = (score: number, digits: number): string =>
  score !== 0 && Math.abs(score) < 1e-3 ? score.toExponential(2) : fixed(score, digits);

/** Number with a true minus sign, and no −0. */
export function fixed(value: number, digits: number, signed = false): string {
  const text = value.toFixed(digits).replace(/^-(?=0(\.0*)?$)/, '');
  return text.startsWith('-') ? `−${text.slice(1)}` : signed ? `+${text}` : text;
}

export function formatP(p: number): string {
  if (p < 1e-4) return p.toExponential(0).replace('-', '−');
  return p.toFixed(p < 0.01 ? 4 : 3);
}

/** Counts with thousands apart; others with as many digits as say something. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en-US');
  return String(Number(value.toPrecision(4)));
}
