import { UsageError, visibleLine } from 'flinch/internals';
import { type Cells, readCells, TableError } from './cells.js';

/** A row by the names of its columns. */
export interface TableRow {
  readonly values: Readonly<Record<string, string>>;
  readonly line: number;
}

const TAB = '\t';
/** Where decimals have a comma, spreadsheets write CSV with semicolons. */
const SEPARATORS = [',', ';', TAB];
/** The line by which Excel is told the separator. */
const SEPARATOR_LINE = /^"?sep=([^\r\n])"?(?=[\r\n]|$)/i;

/**
 * Rows of CSV or TSV, as programs write them. The separator is that of a line `sep=;`, or else the one of the line of names.
 *
 * @param place of the text, for messages
 * @param own separator of the format
 * @throws UsageError that names the file and the line
 */
export function readTable(text: string, place: string, own: string): TableRow[] {
  const [separatorLine = '', separator = separatorOf(text, own)] = SEPARATOR_LINE.exec(text) ?? [];
  const read = (quotes: boolean): TableRow[] => [
    ...rowsOf(readCells(text.slice(separatorLine.length), separator, quotes), separator),
  ];
  try {
    return separator === TAB ? readTabs(read) : read(true);
  } catch (error) {
    if (!(error instanceof TableError)) throw error;
    const problem = visibleLine(error.message);
    throw new UsageError(`${place}:${error.line}: ${problem}`, { cause: error });
  }
}

/** The format's own if it is in the line of names, or else the one that is there most often. */
function separatorOf(text: string, own: string): string {
  const names = (/[^\r\n]+/.exec(text)?.[0] ?? '').replaceAll(/"[^"]*"/g, '');
  const count = (separator: string): number => names.split(separator).length;
  if (count(own) > 1) return own;
  return SEPARATORS.reduce((most, one) => (count(one) > count(most) ? one : most), own);
}

/**
 * Quotes are text in TSV (IANA's `text/tab-separated-values`). Spreadsheets, pandas and R write it with quotes as in CSV. That
 * shows: the names are in quotes, or quotes within quotes are doubled, or the rows do not fit without.
 */
function readTabs(read: (quotes: boolean) => TableRow[]): TableRow[] {
  const attempt = (quotes: boolean): TableRow[] | TableError => {
    try {
      return read(quotes);
    } catch (error) {
      if (error instanceof TableError) return error;
      throw error;
    }
  };
  const [plain, quoted] = [attempt(false), attempt(true)];
  if (quoted instanceof TableError) {
    if (plain instanceof TableError) throw plain;
    return plain;
  }
  return plain instanceof TableError || plain.some(hasQuotes) ? quoted : plain;
}

/** Whether cells that were read without quotes are in quotes. */
function hasQuotes({ values }: TableRow): boolean {
  const within = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => /^"([\s\S]*)"$/.exec(text)?.slice(1) ?? []);
  const names = Object.keys(values);
  const isDoubled = (text: string): boolean =>
    text.includes('""') && !text.replaceAll('""', '').includes('"');
  return within(names).length === names.length || within(Object.values(values)).some(isDoubled);
}

/**
 * Rows below the line of names. Rows and columns without a content play no part: spreadsheets write as many as somebody once
 * touched. Neither does a first column without a name: R and pandas write the names of rows so.
 */
function* rowsOf(lines: Iterable<Cells>, separator: string): Generator<TableRow> {
  let names: readonly string[] | null = null;
  for (const { cells, line } of lines) {
    if (cells.every(isEmpty)) continue;
    if (names === null) {
      names = cells.map((cell) => cell.trim());
      const twice = names.find((name, i) => name !== '' && names?.indexOf(name) !== i);
      if (twice !== undefined) throw new TableError(line, `has two columns named ${JSON.stringify(twice)}`);
      continue;
    }
    const width = names.findLastIndex((name) => name !== '') + 1;
    if (cells.length < width)
      throw new TableError(line, `has ${cells.length} cells, not ${width} as the line of names`);
    const nameless = cells.findIndex((cell, i) => i > 0 && !names?.[i] && !isEmpty(cell));
    if (nameless > 0)
      throw new TableError(
        line,
        `cell ${nameless + 1} is in no column that has a name; a text with ${JSON.stringify(separator)} in it must be in quotes`,
      );
    const named = names.flatMap((name, i) => (name === '' ? [] : [[name, cells[i] ?? ''] as const]));
    yield { values: Object.fromEntries(named), line };
  }
}

const isEmpty = (cell: string): boolean => cell.trim() === '';
