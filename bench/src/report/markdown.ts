import { table } from '../markdown-table.js';
import { cellText, NONE } from './cell-text.js';
import {
  type Block,
  type CaseBlock,
  type Cell,
  type Inline,
  type ReportDocument,
  type TableBlock,
  WHAT_IS_WRONG,
} from './document.js';
import { tokenRuns } from './token-runs.js';
import { visible } from './visible.js';

/** The report as Markdown: CommonMark with tables. */
export function renderMarkdown({ title, lead, sections }: ReportDocument): string {
  const parts = [
    `# ${escapeMarkdown(title)}`,
    lead.map((line) => `- ${escapeMarkdown(line)}`).join('\n'),
    ...sections.flatMap((section) => [
      `## ${escapeMarkdown(section.title)}`,
      ...section.blocks.map(renderBlock),
    ]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `### ${escapeMarkdown(block.text)}`;
    case 'text':
      return inline(block.text);
    case 'list':
      return block.items.map((item) => `- ${inline(item)}`).join('\n');
    case 'code':
      return fence(block.text);
    case 'table':
      return renderTable(block);
    case 'case':
      return renderCase(block);
  }
}

const inline = (text: Inline): string =>
  (typeof text === 'string' ? [text] : text)
    .map((part) =>
      typeof part === 'string' ? escapeMarkdown(part) : `[${escapeMarkdown(part.text)}](<${part.href}>)`,
    )
    .join('');

function renderTable({ caption, stub, groups, parts, divider = '', notes }: TableBlock): string {
  const heads = groups.flatMap(({ label, columns }) =>
    columns.map((column) => (label === null ? column : `${label}: ${column}`)),
  );
  const details = groups.flatMap(({ label, detail }) =>
    detail === null ? [] : `${label === null ? '' : `${label}: `}${detail}`,
  );
  const width = heads.length;
  const rows = parts.flatMap((part, i) => [
    ...(i === 0 ? [] : [[divider && `*${escapeMarkdown(divider)}*`, ...new Array<string>(width).fill('')]]),
    ...part.map(({ label, cells }) => [escapeMarkdown(label), ...cells.map(renderCell)]),
  ]);
  return [
    `**${escapeMarkdown(caption)}**`,
    table([stub, ...heads].map(escapeMarkdown), rows),
    ...(details.length === 0 ? [] : [escapeMarkdown(details.join(' · '))]),
    ...notes.map((note) => `*${escapeMarkdown(note)}*`),
  ].join('\n\n');
}

function renderCell(cell: Cell): string {
  const { main, best, interval, n, paper } = cellText(cell);
  const bold = (text: string, is: boolean): string =>
    is ? `**${escapeMarkdown(text)}**` : escapeMarkdown(text);
  return [
    bold(main, best),
    interval && escapeMarkdown(interval),
    n && escapeMarkdown(n),
    paper && `(${bold(paper.text, paper.best)})`,
  ]
    .filter((part) => part !== null)
    .join(' ');
}

function renderCase({ title, question, verdict, tokens, measures }: CaseBlock): string {
  const what = WHAT_IS_WRONG[verdict.of];
  const marked = tokenRuns(tokens).map(({ from, to, wrong, tail }) => {
    const text = tokens
      .slice(from, to)
      .map((token) => token.text)
      .join('');
    return wrong ? `⟦${text.slice(0, text.length - tail.length)}⟧${tail}` : text;
  });
  const highest = measures.map(({ label, scores, hit }) => [
    escapeMarkdown(label),
    ...[1, 2, 3].map((rank) => {
      const found = scores.flatMap((score, i) => (score.rank === rank ? [tokens[i]!.text] : []));
      return found.length === 0
        ? NONE
        : found.map((text) => escapeMarkdown(JSON.stringify(visible(text)))).join(', ');
    }),
    hit === null ? NONE : hit ? 'yes' : 'no',
  ]);
  return [
    `### ${escapeMarkdown(title)}`,
    'Question:',
    fence(question),
    verdictText(verdict),
    fence(marked.join('')),
    table(['Highest tokens', '1', '2', '3', `one in ${what.article} ${what.noun}`], highest),
  ].join('\n\n');
}

function verdictText(verdict: CaseBlock['verdict']): string {
  if (verdict.of === 'claims')
    return `Statements: ${verdict.supported} supported, ${verdict.unsupported} unsupported.`;
  const { reference, extracted, correct } = verdict;
  return `Reference: ${escapeMarkdown(reference ?? 'none')}. Answer: ${escapeMarkdown(extracted ?? 'none found')}, ${correct ? 'right' : 'wrong'}.`;
}

/** Code block with any content: the fence is longer than any run of backticks inside. */
function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const line = '`'.repeat(longest + 1);
  return `${line}text\n${visible(text)}\n${line}`;
}

/** Text that says in Markdown what it says here, in one line. */
export const escapeMarkdown = (text: string): string =>
  visible(text)
    .replace(/(?<!\s)\s*\n\s*/g, ' ')
    .replace(/[\\`*<|~$]|\](?=[([:])|&(?=[\w#])/g, '\\$&')
    // Inside a word it is no emphasis.
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    // These start a list, a heading or a quotation at the start of a line.
    .replace(/^(\s*)([-+=>#])/, '$1\\$2')
    .replace(/^(\s*\d+)([.)])(?=\s|$)/, '$1\\$2');
