import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { say } from 'flinch/internals';
import Papa from 'papaparse';
import { refuseForeign } from '../foreign-files.js';
import { toLine } from '../result-log.js';
import { peekRecords, readRun, readScores } from '../run/run-folder.js';
import { COMPUTED } from '../suites/own/formula-cells.js';
import {
  ANSWER_COLUMNS,
  answerRows,
  askedColumns,
  type CsvCell,
  type CsvRow,
  type Exported,
  measureColumns,
  STEP_COLUMNS,
  stepRows,
  tokenLines,
} from './export-rows.js';

const FILES = ['answers.csv', 'steps.csv', 'tokens.jsonl'] as const;

export function exportCommand(): Command {
  return new Command('export')
    .description("Write a run's answers, steps and tokens with their scores for other programs.")
    .argument('<folder>', 'folder of a run: --out')
    .option('--out <folder>', 'output folder (default: the folder of the run)')
    .addHelpText(
      'after',
      `
Writes answers.csv, steps.csv and tokens.jsonl. docs/benchmark-files.md describes the columns. flinch bench run --questions
and flinch bench report --labels read answers.csv as it is.

Example:
  $ flinch bench export runs/tasks`,
    )
    .action(writeExport);
}

async function writeExport(folder: string, { out = folder }: { readonly out?: string }): Promise<void> {
  const { problems, settings } = await readRun(folder);
  const scores = { [Symbol.asyncIterator]: () => readScores(folder) };
  const run: Exported = { problems, measures: settings.measures, scores, records: await peekRecords(folder) };
  mkdirSync(out, { recursive: true });
  refuseForeign(out, FILES, 'answers.csv', ANSWER_COLUMNS.join(','));
  const answers = [...ANSWER_COLUMNS, ...askedColumns(run), ...(await measureColumns(run, 'response'))];
  const steps = [...STEP_COLUMNS, ...(await measureColumns(run, 'steps'))];
  const texts = [csvLines(answers, answerRows(run)), csvLines(steps, stepRows(run)), jsonLines(run)];
  for (const [i, name] of FILES.entries()) {
    const file = join(out, name);
    await pipeline(Readable.from(texts[i]!), createWriteStream(`${file}.part`));
    renameSync(`${file}.part`, file);
    say(`${file}\n`);
  }
}

/** RFC 4180, UTF-8, with a header; a cell of `null` is empty. */
async function* csvLines(columns: readonly string[], rows: AsyncIterable<CsvRow>): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const row of rows) yield csvLine(columns.map((name) => row[name] ?? null));
}

const csvLine = (cells: readonly CsvCell[]): string =>
  `${Papa.unparse([cells.map(asRead)], { escapeFormulae: COMPUTED })}\n`;

/** Truth is written as R and pandas both read it. */
const asRead = (cell: CsvCell): CsvCell => (typeof cell === 'boolean' ? String(cell).toUpperCase() : cell);

async function* jsonLines(run: Exported): AsyncGenerator<string> {
  for await (const line of tokenLines(run)) yield toLine(line);
}
