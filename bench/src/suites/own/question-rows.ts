import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { parseExactJson, parseJsonLines, parseJsonText, reasonOf, UsageError } from 'flinch/internals';
import { z } from 'zod';
import { withoutApostrophe } from './formula-cells.js';
import { readTable } from './question-table.js';

/** A row of a file, by the names of its columns. */
export interface Row {
  readonly values: Readonly<Record<string, unknown>>;
  /** File and line, or file and place in the list. */
  readonly place: string;
  /** Whether its values are texts of cells, and not JSON. */
  readonly isTable: boolean;
}

/** A column of answers.csv, whose cells have an apostrophe before what a spreadsheet would compute. */
export const LABELLED_BY = 'labelled_by';

/** Bytes of the largest file that is read. */
const LARGEST = 256 * 2 ** 20;

const objectSchema = z.record(z.string(), z.json());

/** Formats by the ending of the file's name. */
const READERS: Readonly<Record<string, (text: string, file: string, option: string) => Row[]>> = {
  '.csv': (...given) => tableRows(...given, ','),
  '.tsv': (...given) => tableRows(...given, '\t'),
  '.jsonl': readLines,
  '.ndjson': readLines,
  '.json': (text, file, option) =>
    parseJsonText(text, z.array(objectSchema), `${option}: ${file}`, parseExactJson).map((values, i) => ({
      values,
      place: `${file}: [${i}]`,
      isTable: false,
    })),
};
export const FORMATS = Object.keys(READERS).join(', ');

/**
 * Rows of a file of JSON Lines, CSV or TSV with a line of names, or of a JSON array.
 * @param option that names the file, for messages
 * @throws UsageError that names the file and the line
 */
export async function readRows(file: string, option: string): Promise<Row[]> {
  const read = READERS[extname(file).toLowerCase()];
  if (!read)
    throw new UsageError(
      `${option}: ${file}: the name must end in one of ${FORMATS}${option === '--questions' ? ', .yaml' : ''}`,
    );
  return read(await readText(file, option), file, option);
}

/** @throws UsageError */
async function readText(file: string, option: string): Promise<string> {
  let size: number;
  try {
    ({ size } = await stat(file));
  } catch (cause) {
    throw new UsageError(`${option}: ${file}: cannot be read (${reasonOf(cause)})`, { cause });
  }
  if (size > LARGEST) throw new UsageError(`${option}: ${file}: is larger than 256 MiB`);
  return decoded(await readFile(file), `${option}: ${file}`);
}

/** A wrong character would be part of a question. @throws UsageError that names the line */
function decoded(bytes: Uint8Array, place: string): string {
  const [first, second] = bytes;
  // Excel's "Unicode text" is UTF-16.
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  const read = (fatal: boolean): string => new TextDecoder(encoding, { fatal }).decode(bytes);
  const refused = (text: string, sign: string, cause?: unknown): UsageError => {
    const line = text.slice(0, text.indexOf(sign)).split(/\r\n|\n|\r/).length;
    return new UsageError(`${place}:${line}: is not UTF-8 text; save the file as UTF-8`, {
      cause,
    });
  };
  let text: string;
  try {
    text = read(true);
  } catch (cause) {
    throw refused(read(false), '\ufffd', cause);
  }
  if (text.includes('\0')) throw refused(text, '\0');
  return text;
}

const tableRows = (text: string, file: string, option: string, separator: string): Row[] =>
  readTable(text, `${option}: ${file}`, separator).map(({ values, line }) => ({
    values: LABELLED_BY in values ? unescaped(values) : values,
    place: `${file}:${line}`,
    isTable: true,
  }));

const unescaped = (values: Readonly<Record<string, string>>): Row['values'] =>
  Object.fromEntries(Object.entries(values).map(([name, cell]) => [name, withoutApostrophe(cell)]));

function readLines(text: string, file: string, option: string): Row[] {
  const lines = text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [i + 1]));
  return parseJsonLines(text, objectSchema, `${option}: ${file}`, parseExactJson).map((values, i) => ({
    values,
    place: `${file}:${lines[i]}`,
    isTable: false,
  }));
}
