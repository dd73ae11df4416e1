import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { stringify } from 'csv-stringify';
import { say, UsageError } from 'flinch/internals';
import { z } from 'zod';
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
  const answers = [...ANSWER_COLUMNS, ...(await measureColumns(run, 'response'))];
  await writeCsv(file('answers.csv'), answers, answerRows(run));
  await writeCsv(
    file('steps.csv'),
    [...STEP_COLUMNS, ...(await measureColumns(run, 'steps'))],
    stepRows(run),
  );
  await writeLines(file('tokens.jsonl'), tokenLines(run));
  const schema = z.toJSONSchema(evaluationSchema);
  writeWhole(file('evaluation.schema.json'), `${JSON.stringify(schema, null, 1)}\n`);
  for (const name of ['answers.csv', 'steps.csv', 'tokens.jsonl', 'evaluation.schema.json'])
    say(`${file(name)}\n`);
}

/** RFC 4180, UTF-8, with a header; a cell of `null` is empty. Truth is written as R and pandas both read it. */
async function writeCsv(file: string, columns: string[], rows: AsyncIterable<CsvRow>): Promise<void> {
  const csv = stringify({ header: true, columns, cast: { boolean: (is) => (is ? 'TRUE' : 'FALSE') } });
  await pipeline(Readable.from(rows), csv, createWriteStream(`${file}.part`));
  renameSync(`${file}.part`, file);
}

async function writeLines(file: string, lines: AsyncIterable<object>): Promise<void> {
  const texts = async function* () {
    for await (const line of lines) yield toLine(line);
  };
  await pipeline(Readable.from(texts()), createWriteStream(`${file}.part`));
  renameSync(`${file}.part`, file);
}
