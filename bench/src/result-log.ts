import {
  appendFileSync,
  createReadStream,
  existsSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { linesOf, parseJsonText, reasonOf, UsageError } from 'flinch/internals';
import type { z } from 'zod';

/**
 * Results, one JSON line each, written as they come: a run that is killed goes on where it was. Without a file they are
 * only remembered.
 */
export class Ledger<T extends object> {
  readonly #file: string | null;
  readonly #schema: z.ZodType<T>;
  readonly #keyOf: (result: T) => string | number;
  readonly #results = new Map<string | number, T>();
  /** Why the file takes no more lines. */
  #fault: UsageError | null = null;

  private constructor(file: string | null, schema: z.ZodType<T>, keyOf: (result: T) => string | number) {
    this.#file = file;
    this.#schema = schema;
    this.#keyOf = keyOf;
  }

  /**
   * Reads what is there, and cuts off a line that was being written when the run was killed.
   * @param schema of what is remembered of a result; other fields are written all the same
   * @throws UsageError for a line that does not fit
   */
  static async open<T extends object>(
    file: string | null,
    schema: z.ZodType<T>,
    keyOf: (result: T) => string | number,
  ): Promise<Ledger<T>> {
    const ledger = new Ledger(file, schema, keyOf);
    if (file === null || !existsSync(file)) return ledger;
    truncateSync(file, await ledger.#read(file));
    return ledger;
  }

  /**
   * Results so far of a run that another process may be writing: its file is left as it is, and nothing is
   * added to it.
   */
  static async peek<T extends object>(
    file: string,
    schema: z.ZodType<T>,
    keyOf: (result: T) => string | number,
  ): Promise<Ledger<T>> {
    const ledger = new Ledger(null, schema, keyOf);
    if (existsSync(file)) await ledger.#read(file);
    return ledger;
  }

  /** @returns bytes of whole lines */
  async #read(file: string): Promise<number> {
    let whole = 0;
    for await (const { text, line, end } of readLines(file)) {
      const result = parseJsonText(text, this.#schema, `${file}: line ${line}`);
      this.#results.set(this.#keyOf(result), result);
      whole = end;
    }
    return whole;
  }

  get(key: string | number): T | undefined {
    return this.#results.get(key);
  }

  has(key: string | number): boolean {
    return this.#results.has(key);
  }

  get size(): number {
    return this.#results.size;
  }

  values(): IterableIterator<T> {
    return this.#results.values();
  }

  /**
   * @throws RangeError for a number that JSON does not have; UsageError where the file cannot be written, as on a disk
   *   that is full. Then nothing more is added: a part of the line may be in the file, which is cut off when it is opened
   *   again, unless another line follows.
   */
  add<R extends T>(result: R): R {
    const line = toLine(result);
    const remembered = this.#schema.parse(result);
    if (this.#fault) throw this.#fault;
    if (this.#file !== null) {
      try {
        appendFileSync(this.#file, line);
      } catch (cause) {
        this.#fault = notWritten(this.#file, cause);
        throw this.#fault;
      }
    }
    this.#results.set(this.#keyOf(result), remembered);
    return result;
  }
}

const notWritten = (file: string, cause: unknown): UsageError =>
  new UsageError(
    `${file}: cannot be written (${reasonOf(cause)}); what is there is kept, and the same command continues`,
    { cause },
  );

/** @throws RangeError for NaN and infinities, which JSON would make null */
export function toLine(result: object): string {
  const line = JSON.stringify(result, (key, value) => {
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    throw new RangeError(`${JSON.stringify(Object.values(result)[0])}: ${key} is ${value}`);
  });
  return `${line}\n`;
}

/**
 * The results of a file that may be larger than memory, one after the other; what follows the last newline is left out.
 * @throws UsageError for a line that does not fit
 */
export async function* readResults<T>(file: string, schema: z.ZodType<T>): AsyncGenerator<T> {
  if (!existsSync(file)) return;
  for await (const { text, line } of readLines(file))
    yield parseJsonText(text, schema, `${file}: line ${line}`);
}

const CHUNK = 2 ** 20;

interface Line {
  readonly text: string;
  /** Number of the line, from 1. */
  readonly line: number;
  /** Bytes of the file up to its end. */
  readonly end: number;
}

/** Whole ones: what follows the last newline is left out, and what is added meanwhile. */
async function* readLines(file: string): AsyncGenerator<Line> {
  const { size } = await stat(file);
  let [line, end] = [0, 0];
  for await (const bytes of linesOf(createReadStream(file, { highWaterMark: CHUNK }))) {
    end += bytes.length + 1;
    if (end > size) return;
    line += 1;
    yield { text: Buffer.from(bytes).toString('utf8'), line, end };
  }
}

/** All of it or nothing, whenever the process is killed. @throws UsageError where it cannot be written */
export function writeWhole(file: string, text: string): void {
  try {
    writeFileSync(`${file}.part`, text);
    renameSync(`${file}.part`, file);
  } catch (cause) {
    rmSync(`${file}.part`, { force: true });
    throw notWritten(file, cause);
  }
}
