import { createWriteStream, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { stringify } from 'csv-stringify';
import { say, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { refuseForeign } from '../foreign-files.js';
import { evaluationSchema } from '../records/evaluation.js';
import { toLine, writeWhole } from '../result-log.js';
import { isRun, peekRecords, readRun, readScores } from '../run/run-folder.js';
import {
  ANSWER_COLUMNS,
  answerRows,
  type CsvRow,
  type Exported,
  measureColumns,
  STEP_COLUMNS,
  stepRows,
  tokenLines,
} from './rows.js';

const SCHEMA = 'evaluation.schema.json';
const FILES = ['answers.csv', 'steps.csv', 'tokens.jsonl', SCHEMA];

interface ExportOptions {
  readonly out?: string;
}

export function exportCommand(): Command {
  return new Command('export')
    .description("Write a run's answers, steps and tokens with their scores for other programs.")
    .argument('<folder>', 'folder of a run: --out')
    .option('--out <folder>', 'output folder (default: the folder of the run)')
    .addHelpText(
      'after',
      `
Writes answers.csv, steps.csv and tokens.jsonl, and evaluation.schema.json, the JSON Schema of the run's evaluation.json.
docs/benchmark-files.md describes the columns.

Example:
  $ flinch bench export runs/tasks`,
    )
    .action(writeExport);
}

async function writeExport(folder: string, { out = folder }: ExportOptions): Promise<void> {
  if (!isRun(folder)) throw new UsageError(`${folder}: is not a run folder of flinch bench`);
  const { problems, settings } = await readRun(folder);
  const scores = { [Symbol.asyncIterator]: () => readScores(folder) };
  const run: Exported = { problems, settings, scores, records: await peekRecords(folder) };
  mkdirSync(out, { recursive: true });
  const file = (name: string): string => join(out, name);
  if (!existsSync(file(SCHEMA))) refuseForeign(out, FILES);
  // First: it says that the others are flinch's.
  writeWhole(file(SCHEMA), `${JSON.stringify(z.toJSONSchema(evaluationSchema), null, 1)}\n`);
  const answers = [...ANSWER_COLUMNS, ...(await measureColumns(run, 'response'))];
  await writeCsv(file('answers.csv'), answers, answerRows(run));
  await writeCsv(
    file('steps.csv'),
    [...STEP_COLUMNS, ...(await measureColumns(run, 'steps'))],
    stepRows(run),
  );
  await writeLines(file('tokens.jsonl'), tokenLines(run));
  for (const name of FILES) say(`${file(name)}\n`);
}

/**
 * RFC 4180, UTF-8, with a header; a cell of `null` is empty. Truth is written as R and pandas both read it. A text that a spreadsheet
 * would compute has an apostrophe before it (OWASP, "CSV Injection"): models, and those who ask them, write the texts.
 */
async function writeCsv(file: string, columns: string[], rows: AsyncIterable<CsvRow>): Promise<void> {
  const cast = { boolean: (is: boolean) => (is ? 'TRUE' : 'FALSE'), string: uncomputed };
  const csv = stringify({ header: true, columns, cast });
  await pipeline(Readable.from(rows), csv, createWriteStream(`${file}.part`));
  renameSync(`${file}.part`, file);
}

/** Numbers such as `-0.5` stay. A text that begins with an apostrophe gets another: without the first, each is what it was. */
const uncomputed = (text: string): string =>
  /^'|^\s*[=+\-@]/.test(text) && !/^[-+]?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;

async function writeLines(file: string, lines: AsyncIterable<object>): Promise<void> {
  const texts = async function* () {
    for await (const line of lines) yield toLine(line);
  };
  await pipeline(Readable.from(texts()), createWriteStream(`${file}.part`));
  renameSync(`${file}.part`, file);
}
