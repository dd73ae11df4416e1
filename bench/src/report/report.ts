import { buildPaper, buildReport } from './build.js';
import type { ReportDocument } from './document.js';
import { buildAnswers } from './look-at.js';
import { renderPage } from './page.js';
import { readPaper } from './paper/paper-tables.js';
import { readRuns } from './runs.js';
import { ANSWERS_PAGE } from './sections/answers-section.js';

/** Report of the runs in these folders; without any, the paper's tables. */
export function filesOf(folders: readonly string[]): ReadonlyMap<string, string> {
  const runs = readRuns(folders);
  const paper = readPaper();
  return renderReport(runs.length === 0 ? buildPaper(paper) : buildReport(runs, paper), buildAnswers(runs));
}

/**
 * The files of a report by their names.
 * @param answers a page beside it
 */
export const renderReport = (
  report: ReportDocument,
  answers: ReportDocument | null = null,
): ReadonlyMap<string, string> =>
  new Map([
    ['report.html', renderPage(report)],
    ...(answers ? [[ANSWERS_PAGE, renderPage(answers)] as const] : []),
  ]);
