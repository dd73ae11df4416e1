import { cellText } from './cell-text.js';
import type { Cell, ReportDocument, TableBlock } from './document.js';
import { visible } from './visible.js';

/** Sections whose open tables are written. */
const SECTIONS: readonly string[] = ['answers', 'pooled'];

/**
 * The tables by answer and by step for a paper: environments of LaTeX that need no package. The text is UTF-8; `null` where
 * there is none of these tables.
 */
export function renderLatex({ sections }: ReportDocument): string | null {
  const blocks = sections.filter(({ id }) => SECTIONS.includes(id)).flatMap((section) => section.blocks);
  const tables = blocks.flatMap((block) => (block.kind === 'table' && !block.folded ? [block] : []));
  return tables.length === 0 ? null : `${tables.map(renderTable).join('\n\n')}\n`;
}

function renderTable({ caption, stub, groups, parts }: TableBlock): string {
  const columns = groups.flatMap((group) => group.columns);
  const line = (cells: readonly string[]): string => `${cells.join(' & ')} \\\\`;
  const grouped = groups.some(({ label }) => label !== null);
  const top = groups.map(({ label, detail, columns: own }) => {
    const text = [label, detail === null ? null : `(${detail})`].filter((part) => part !== null).join(' ');
    return `\\multicolumn{${own.length}}{c}{${escapeLatex(text)}}`;
  });
  return [
    '\\begin{table}',
    '\\centering',
    `\\caption{${escapeLatex(caption)}}`,
    `\\begin{tabular}{l${'r'.repeat(columns.length)}}`,
    '\\hline',
    ...(grouped ? [line(['', ...top])] : []),
    line([stub, ...columns].map(escapeLatex)),
    ...parts.flatMap((part) => [
      '\\hline',
      ...part.map(({ label, cells }) => line([escapeLatex(label), ...cells.map(renderCell)])),
    ]),
    '\\hline',
    '\\end{tabular}',
    '\\end{table}',
  ].join('\n');
}

function renderCell(cell: Cell): string {
  const { main, best, interval } = cellText(cell);
  const value = escapeLatex(main);
  // A bracket after the end of a row would be read as its height.
  return `${best ? `\\textbf{${value}}` : value}${interval === null ? '' : ` {\\scriptsize ${escapeLatex(interval)}}`}`;
}

/** What LaTeX would read as a command, and signs that its text fonts lack. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ...[...'&%$#_{}'].map((sign): [string, string] => [sign, `\\${sign}`]),
  ['\\', '\\textbackslash{}'],
  ['~', '\\textasciitilde{}'],
  ['^', '\\textasciicircum{}'],
  ['−', '$-$'],
  ['–', '--'],
  ['σ', '$\\sigma$'],
  ['α', '$\\alpha$'],
  ['ε', '$\\varepsilon$'],
]);

/** Text in one line that reads in LaTeX as it does here. */
export const escapeLatex = (text: string): string =>
  visible(text)
    .replace(/\s+/g, ' ')
    .replace(/[&%$#_{}\\~^−–σαε]/g, (sign) => SIGNS.get(sign) ?? sign);
