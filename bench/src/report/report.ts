import { buildPaper, buildReport } from './build.js';
import type { FigureBlock, ReportDocument } from './document.js';
import { buildAnswers } from './look-at.js';
import { renderMarkdown } from './markdown.js';
import { type Drawings, renderPage } from './page.js';
import { readPaper } from './paper/paper-tables.js';
import { toSvg } from './plots/svg.js';
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
  return new Map([
    ['report.md', renderMarkdown(report)],
    ['report.html', renderPage(report, await draw(report))],
    ...(answers ? [[ANSWERS_PAGE, renderPage(answers, new Map())] as const] : []),
  ]);
}

async function draw({ sections }: ReportDocument): Promise<Drawings> {
  const drawings = new Map<FigureBlock, string>();
  for (const block of sections.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'figure') drawings.set(block, await toSvg(block.spec));
  }
  return drawings;
}
