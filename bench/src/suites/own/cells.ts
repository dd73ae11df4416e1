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

/**
 * Rows of CSV (RFC 4180), with line ends of any kind. A quote within a cell that does not begin with one is text; a parser
 * that takes it so (csv-parse's `relax_quotes`) also takes `"5" pipe"`, which nobody can read for sure.
 *
 * @param separator one character
 * @param quotes whether cells may be in quotes
 * @throws TableError
 */
export function* readCells(text: string, separator: string, quotes: boolean): Generator<Cells> {
  const isEnd = (at: number): boolean => at >= text.length || [separator, '\r', '\n'].includes(text[at]!);
  const afterSpaces = (at: number): number => {
    let after = at;
    while (text[after] === ' ') after += 1;
    return after;
  };

  const bare = (at: number) => {
    let end = at;
    while (!isEnd(end)) end += 1;
    return { cell: text.slice(at, end), end };
  };
  const inQuotes = (at: number, line: number) => {
    const from = afterSpaces(at);
    if (text[from] !== '"') return null;
    let closing = text.indexOf('"', from + 1);
    while (closing >= 0 && text[closing + 1] === '"') closing = text.indexOf('"', closing + 2);
    const end = afterSpaces(closing + 1);
    if (closing >= 0 && isEnd(end)) return { cell: text.slice(from + 1, closing).replaceAll('""', '"'), end };
    if (from > at) return null; // a text that begins with a space
    if (closing < 0) throw new TableError(line, 'the cell that begins with a quote has no other at its end');
    throw new TableError(
      line,
      'a text follows the cell in quotes; a quote within a cell in quotes is written twice',
    );
  };

  for (let [at, line] = [0, 1]; at < text.length; line += 1) {
    const row = { cells: [] as string[], line };
    for (let more = true; more; at += more ? 1 : 0) {
      const { cell, end } = (quotes && inQuotes(at, line)) || bare(at);
      row.cells.push(cell);
      line += cell.match(/\r\n|\n|\r/g)?.length ?? 0;
      at = end;
      more = text[at] === separator;
    }
    yield row;
    at += text.startsWith('\r\n', at) ? 2 : 1;
  }
}
