/** A day, or a part of one: `null` is not said. */
export interface WrittenDate {
  readonly year: number | null;
  readonly month: number | null;
  readonly day: number | null;
  /** The other reading of 9/11/1989. */
  readonly swapped: boolean;
  readonly start: number;
  readonly end: number;
}

const MONTHS: readonly string[] = [
  'january|jan|januar|janvier|enero',
  'february|feb|februar|février|febrero',
  'march|mar|märz|mars|marzo',
  'april|apr|avril|abril',
  'may|mai|mayo',
  'june|jun|juni|juin|junio',
  'july|jul|juli|juillet|julio',
  'august|aug|août|agosto',
  'september|sept|sep|septembre|septiembre',
  'october|oct|oktober|okt|octobre|octubre',
  'november|nov|novembre|noviembre',
  'december|dec|dezember|dez|décembre|diciembre',
];
const MONTH = `(${MONTHS.join('|')})\\.?`;
const ORDINALS =
  'first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|twenty-first|twenty-second|twenty-third|twenty-fourth|twenty-fifth|twenty-sixth|twenty-seventh|twenty-eighth|twenty-ninth|thirtieth|thirty-first'.split(
    '|',
  );
const DAY = `(\\d{1,2}(?:st|nd|rd|th)?|${[...ORDINALS].sort((a, b) => b.length - a.length).join('|')})\\.?`;
const YEAR = '(\\d{4})(?!\\d)';

type Order = readonly ('year' | 'month' | 'day')[];
const before = (pattern: string): RegExp => new RegExp(`(?<![\\p{L}\\d])${pattern}(?![\\p{L}])`, 'giu');
const FORMS: readonly (readonly [RegExp, Order])[] = [
  [/(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)/g, ['year', 'month', 'day']],
  [/(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日?/g, ['year', 'month', 'day']],
  [/(?<![\d/])(\d{4})\/(\d{1,2})\/(\d{1,2})(?![\d/])/g, ['year', 'month', 'day']],
  [/(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)/g, ['day', 'month', 'year']],
  [before(`${DAY}\\s+(?:of\\s+|de\\s+)?${MONTH},?\\s+(?:of\\s+|de\\s+)?${YEAR}`), ['day', 'month', 'year']],
  [before(`${MONTH}\\s+(?:the\\s+)?${DAY},?\\s+${YEAR}`), ['month', 'day', 'year']],
  [before(`${DAY}\\s+(?:of\\s+|de\\s+)?${MONTH}`), ['day', 'month']],
  [before(`${MONTH}\\s+(?:the\\s+)?${DAY}(?!\\d)`), ['month', 'day']],
  [before(`${MONTH},?\\s+(?:of\\s+|de\\s+)?${YEAR}`), ['month', 'year']],
  [/(?<![\d-])(\d{4})-(0[1-9]|1[0-2])(?![\d-])/g, ['year', 'month']],
];
/** Which of the two numbers is the month depends on the country. */
const SLASHED = /(?<![\d/])(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?!\d)/g;

/** All dates that a plain text names, in order. A year alone is a number. */
export function datesIn(text: string): WrittenDate[] {
  const found: WrittenDate[] = [];
  const add = (date: Omit<WrittenDate, 'start' | 'end'>, { index, 0: all }: RegExpExecArray): void => {
    const [start, end] = [index, index + all.length];
    const { day, month } = date;
    if ((day ?? 1) < 1 || (day ?? 1) > 31 || (month ?? 1) < 1 || (month ?? 1) > 12) return;
    if (found.some((other) => start < other.end && end > other.start && other.swapped === date.swapped))
      return;
    found.push({ ...date, start, end });
  };
  for (const [form, order] of FORMS)
    for (const match of text.matchAll(form)) {
      const part = (name: Order[number]): string | null => match[order.indexOf(name) + 1] ?? null;
      const [year, month, day] = [part('year'), part('month'), part('day')];
      add(
        {
          year: order.includes('year') ? Number(year) : null,
          month: monthOf(month ?? ''),
          day: order.includes('day') ? dayOf(day ?? '') : null,
          swapped: false,
        },
        match,
      );
    }
  for (const match of text.matchAll(SLASHED)) {
    const [a, b, year] = [Number(match[1]), Number(match[2]), Number(match[3])];
    add({ year, month: a, day: b, swapped: false }, match);
    add({ year, month: b, day: a, swapped: a <= 12 }, match);
  }
  return found.sort((a, b) => a.start - b.start);
}

const monthOf = (text: string): number =>
  /^\d/.test(text)
    ? Number(text)
    : MONTHS.findIndex((names) => names.split('|').includes(text.toLowerCase())) + 1;

const dayOf = (text: string): number =>
  /^\d/.test(text) ? Number.parseInt(text, 10) : ORDINALS.indexOf(text.toLowerCase()) + 1;

/**
 * Whether a date is the one of the key: `null` if it says less, as 1989 of 9 November 1989. What it says more plays no part.
 */
export function sameDate(date: WrittenDate, key: WrittenDate): boolean | null {
  const parts = (['year', 'month', 'day'] as const).map((part) => [date[part], key[part]] as const);
  if (parts.some(([said, wanted]) => said !== null && wanted !== null && said !== wanted)) return false;
  return parts.some(([said, wanted]) => said === null && wanted !== null) ? null : true;
}
