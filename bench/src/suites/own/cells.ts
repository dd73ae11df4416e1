import Papa from 'papaparse';

/** A row of a text of cells. */
export interface Cells {
  readonly cells: readonly string[];
  /** On which it begins, from 1. */
  readonly line: number;
}

/** What is wrong with a table, and where. */
export class TableError extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  MissingQuotes: 'the cell that begins with a quote has no other at its end',
  InvalidQuotes: 'a text follows the cell in quotes; a quote within a cell in quotes is written twice',
};

/**
 * Rows of CSV (RFC 4180), with line ends of any kind. A quote within a cell that does not begin with one is text.
 *
 * @param separator one character
 * @param quotes whether cells may be in quotes
 * @throws TableError
 */
export function* readCells(text: string, separator: string, quotes: boolean): Generator<Cells> {
  const { data, errors } = Papa.parse<string[]>(text.replaceAll(/\r\n?/g, '\n'), {
    delimiter: separator,
    newline: '\n',
    quoteChar: quotes ? '"' : '\0',
  });
  const [problem] = errors.filter(({ type }) => type === 'Quotes');
  let line = 1;
  for (const [i, cells] of data.entries()) {
    if (i === problem?.row) throw new TableError(line, PROBLEMS[problem.code] ?? problem.message);
    // Some programs read the quote as one, and others as text.
    if (quotes && cells.some((cell) => /^ +"[^"]*" *$/.test(cell)))
      throw new TableError(line, 'a space stands before the quote of a cell; remove it');
    yield { cells, line };
    line += 1 + cells.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0);
  }
}
