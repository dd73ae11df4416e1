import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { say, UsageError } from 'flinch/internals';
import { refuseForeign } from '../foreign-files.js';
import { table } from '../markdown-table.js';
import { renderAnswers } from '../report/answers-page.js';
import { buildPaper, buildReport } from '../report/build.js';
import { GENERATOR, renderPage } from '../report/page.js';
import { readPaper } from '../report/paper/paper-tables.js';
import { type Run, readRuns } from '../report/runs.js';
import { ANSWERS_PAGE } from '../report/sections/answers-section.js';
import { type Comparison, comparedLabel } from '../report/sections/compared-section.js';
import { hasRecords } from '../run/run-folder.js';
import { formatEstimate } from '../statistics/estimate.js';
import { comparisonsOf } from './compared-runs.js';
import { type Floor, missedFloors, parseFloors } from './floors.js';
import { labelRun } from './label-run.js';
import { listAnswers } from './listed-answers.js';

interface ReportOptions {
  readonly out?: string;
  readonly labels?: string;
  readonly failBelow?: readonly Floor[];
  readonly paper?: boolean;
}

export function reportCommand(): Command {
  return new Command('report')
    .description('Write the tables of one or more runs as pages, and compare runs on the same questions.')
    .argument('[folders...]', 'folders of `flinch bench run`; the others are compared with the first')
    .option('--out <folder>', 'output folder (default: the first run folder)')
    .option(
      '--labels <file>',
      'labels of people, which the run keeps: labels.jsonl that answers.html saves, answers.csv of bench export, or any table with id and label',
    )
    .option(
      '--fail-below <floors>',
      'exit with 1 if a run is below: accuracy=0.8,auroc=0.7 (auroc: that of the best score)',
      parseFloors,
    )
    .option('--paper', "write the paper's tables with its own numbers, without a run; requires --out")
    .addHelpText(
      'after',
      `
Writes report.html, and of a single run answers.html: all answers, to be searched, and to have their labels mended (right,
wrong or unsure). It saves labels.jsonl; with --labels, these labels hold in the run from then on, for all commands. The pages
need no network. evaluation.json in a run's folder has all numbers.

Examples:
  $ flinch bench report runs/math
  $ flinch bench report runs/math --labels labels.jsonl
  $ flinch bench report runs/before runs/after --out runs/report
  $ flinch bench report runs/after --fail-below accuracy=0.8,auroc=0.7
  $ flinch bench report --paper --out /tmp/paper`,
    )
    .action(report);
}

async function report(
  folders: readonly string[],
  { out, labels, failBelow: floors = [], paper }: ReportOptions,
): Promise<void> {
  const [first] = folders;
  if (paper && first !== undefined) throw new UsageError('--paper: cannot be combined with run folders');
  if (!paper && first === undefined) throw new UsageError('at least one run folder is required');
  const target = out ?? first;
  if (target === undefined) throw new UsageError('--paper: requires --out');
  if (labels !== undefined) {
    if (first === undefined || folders.length > 1)
      throw new UsageError('--labels: requires exactly one run folder, because labels are of its answers');
    await labelRun(first, labels);
  }
  const runs = readRuns(folders);
  const comparisons = runs.every(hasAnswers) ? await comparisonsOf(runs) : [];
  writePages(target, await pagesOf(runs, comparisons));
  for (const comparison of comparisons) say(`\n${formatComparison(comparison)}\n`);
  const missed = runs.flatMap(({ folder, evaluation }) =>
    missedFloors(evaluation, floors).map((problem) => `${folder}: ${problem}`),
  );
  if (missed.length > 0) throw new UsageError(`--fail-below: ${missed.join('\n')}`);
}

/** Whether its answers are there, and not only what they were evaluated to. */
const hasAnswers = ({ folder, evaluation }: Run): boolean =>
  evaluation.counts.length > 0 && hasRecords(folder, 'checks');

async function pagesOf(
  runs: readonly Run[],
  comparisons: readonly Comparison[],
): Promise<ReadonlyMap<string, string>> {
  const paper = readPaper();
  const [run] = runs;
  if (!run) return new Map([['report.html', renderPage(buildPaper(paper))]]);
  const listed = runs.length === 1 && hasAnswers(run) ? await listAnswers(run) : null;
  return new Map([
    ['report.html', renderPage(buildReport(runs, paper, { comparisons, isListed: listed !== null }))],
    ...(listed ? [[ANSWERS_PAGE, renderAnswers(listed)] as const] : []),
  ]);
}

function writePages(folder: string, pages: ReadonlyMap<string, string>): void {
  refuseForeign(folder, [...pages.keys()], 'report.html', GENERATOR);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of pages) {
    writeFileSync(join(folder, name), text);
    say(`${join(folder, name)}\n`);
  }
}

const formatComparison = ({ first, second, rows }: Comparison): string =>
  table(
    [`${second.folder} less ${first.folder}`, 'first', 'second', 'difference', 'questions'],
    rows.map((row) => [
      comparedLabel(row),
      ...[row.first, row.second, row.difference].map(({ value, interval }) =>
        value === null ? 'n/a' : formatEstimate({ value, interval }),
      ),
      String(row.n),
    ]),
  );
