/**
 * Texts that a spreadsheet would compute, but for numbers such as `-0.5`, get an apostrophe in front (OWASP, "CSV Injection"):
 * models, and those who ask them, write the texts. A text that begins with an apostrophe gets another: without the first, each
 * is what it was.
 */
export const COMPUTED = /^(?![-+]?\d+(\.\d+)?$)('|\s*[=+\-@])/;

/** What was in a cell before {@link COMPUTED} ones got their apostrophe. */
export const withoutApostrophe = (cell: string): string =>
  cell.startsWith("'") && COMPUTED.test(cell.slice(1)) ? cell.slice(1) : cell;
