import { buildPaper, buildReport } from './build.js';
import type { FigureBlock, ReportDocument } from './document.js';
import { groupBy } from './group-by.js';
import { renderLatex } from './latex.js';
import { buildAnswers } from './look-at.js';
import { renderMarkdown } from './markdown.js';
import { type Drawings, renderPage } from './page.js';
import { readPaper } from './paper/paper-tables.js';
import { standalone, toSvg } from './plots/svg.js';
import { readRuns } from './runs.js';
import { ANSWERS_PAGE } from './sections/answers.js';

/** Report of the runs in these folders; without any, the paper's tables. */
export function filesOf(folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const runs = readRuns(folders);
  const paper = readPaper();
  return renderReport(runs.length === 0 ? buildPaper(paper) : buildReport(runs, paper), buildAnswers(runs));
}

/**
 * The files of a report by their names.
 * @param answers a page beside it
 */
export async function renderReport(
  report: ReportDocument,
  answers: ReportDocument | null = null,
): Promise<ReadonlyMap<string, string>> {
  const drawings = await draw(report);
  const latex = renderLatex(report);
  return new Map([
    ['report.md', renderMarkdown(report)],
    ['report.json', renderJson(report)],
    ['report.html', renderPage(report, drawings)],
    ...(answers ? [[ANSWERS_PAGE, renderPage(answers, new Map())] as const] : []),
    ...(latex === null ? [] : [['report.tex', latex] as const]),
    ...figureFiles(drawings),
  ]);
}

/** Folder of the figures as files. */
export const FIGURES = 'figures';

/** Each figure by its title; those with the same title are numbered. */
function figureFiles(drawings: Drawings): [name: string, text: string][] {
  const groups = groupBy([...drawings], ([{ title }]) => slug(title));
  return [...groups].flatMap(([name, own]) =>
    own.map(([, svg], i): [string, string] => [
      `${FIGURES}/${i === 0 ? name : `${name}-${i + 1}`}.svg`,
      standalone(svg),
    ]),
  );
}

const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-|-$/g, '');

/** How figures are drawn, and what evaluation.json has of responses token by token. */
const LEFT_OUT = ['spec', 'tokens', 'scores'];

/** By which a report is told from other files. */
export const FORMAT = 'flinch-report/1';

/** The document as it is, with the numbers of its figures. */
const renderJson = (report: ReportDocument): string => {
  const keep = (key: string, value: unknown): unknown => (LEFT_OUT.includes(key) ? undefined : value);
  return `${JSON.stringify({ format: FORMAT, ...report }, keep, 2)}\n`;
};

async function draw({ sections }: ReportDocument): Promise<Drawings> {
  const drawings = new Map<FigureBlock, string>();
  for (const block of sections.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'figure') drawings.set(block, await toSvg(block.spec));
  }
  return drawings;
}
