import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { type CsvError, parse } from 'csv-parse/sync';
import { parseJsonLines, parseJsonText, reasonOf, UsageError } from 'flinch/internals';
import { z } from 'zod';

/** A row of a file, by the names of its columns. */
export interface Row {
  readonly values: Readonly<Record<string, unknown>>;
  /** File and line, or file and place in the list. */
  readonly place: string;
  /** Whether its values are texts of cells, and not JSON. */
  readonly isTable: boolean;
}

/** Bytes of the largest file that is read. */
const LARGEST = 256 * 2 ** 20;

const objectSchema = z.record(z.string(), z.json());

/** Formats by the ending of the file's name. */
const READERS: Readonly<Record<string, (text: string, file: string) => Row[]>> = {
  '.csv': (text, file) => readTable(text, file, ','),
  '.tsv': (text, file) => readTable(text, file, '\t'),
  '.jsonl': readLines,
  '.ndjson': readLines,
  '.json': (text, file) =>
    parseJsonText(text, z.array(objectSchema), file).map((values, i) => ({
      values,
      place: `${file}: [${i}]`,
      isTable: false,
    })),
};
export const FORMATS = Object.keys(READERS).join(', ');

/**
 * Rows of a file of JSON Lines, CSV or TSV with a line of names, or of a JSON array.
 * @throws UsageError that names the file and the line
 */
export async function readRows(file: string): Promise<Row[]> {
  const read = READERS[extname(file).toLowerCase()];
  if (!read) throw new UsageError(`--questions: ${file}: the name must end in one of ${FORMATS}, .yaml`);
  return read(await readText(file), file);
}

/** @throws UsageError */
async function readText(file: string): Promise<string> {
  let size: number;
  try {
    ({ size } = await stat(file));
  } catch (cause) {
    throw new UsageError(`--questions: ${file}: cannot be read (${reasonOf(cause)})`, { cause });
  }
  if (size > LARGEST) throw new UsageError(`--questions: ${file}: is larger than 256 MiB`);
  try {
    // A wrong character would be part of a question.
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (cause) {
    throw new UsageError(`--questions: ${file}: is not UTF-8 text (${reasonOf(cause)})`, { cause });
  }
}

function readTable(text: string, file: string, delimiter: string): Row[] {
  try {
    const records = parse(text, {
      delimiter,
      columns: (names: string[]) => distinct(names, file),
      info: true,
      skip_empty_lines: true,
    }) as unknown as readonly { readonly record: Record<string, string>; readonly info: { lines: number } }[];
    return records.map(({ record, info }) => ({
      values: record,
      place: `${file}:${info.lines}`,
      isTable: true,
    }));
  } catch (error) {
    if (!isCsvError(error)) throw error;
    throw new UsageError(`--questions: ${file}: ${error.message}`, { cause: error });
  }
}

const isCsvError = (error: unknown): error is CsvError =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_');

function distinct(names: readonly string[], file: string): string[] {
  const trimmed = names.map((name) => name.trim());
  const twice = trimmed.find((name, i) => trimmed.indexOf(name) < i);
  if (twice === undefined) return trimmed;
  throw new UsageError(`--questions: ${file}:1: has two columns named ${JSON.stringify(twice)}`);
}

function readLines(text: string, file: string): Row[] {
  try {
    const lines = text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [i + 1]));
    return parseJsonLines(text, objectSchema).map((values, i) => ({
      values,
      place: `${file}:${lines[i]}`,
      isTable: false,
    }));
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`--questions: ${file}: ${error.message}`) : error;
  }
}
