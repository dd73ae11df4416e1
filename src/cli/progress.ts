import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';

/** A bar on standard error, where people see it and pipes do not. */
export class Progress {
  readonly #bar: SingleBar;

  /**
   * @param total `null` when it is not known
   * @param name of the work, where a command has several
   */
  constructor(total: number | null, name?: string) {
    const bar =
      total === null ? '{value} scored, {duration_formatted}' : '{bar} {value}/{total}, {eta_formatted} left';
    const format = name === undefined ? bar : `${name}: ${bar}`;
    this.#bar = new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true });
    if (process.stderr.isTTY) this.#bar.start(total ?? 0, 0);
  }

  advance(): void {
    this.#bar.increment();
  }

  stop(): void {
    this.#bar.stop();
  }
}

/**
 * Lines of a file, for a bar that somebody sees. `null` for what can be read only once, such as a pipe, and where no
 * bar is shown.
 */
export async function countLines(file: string): Promise<number | null> {
  if (file === '-' || !process.stderr.isTTY || !(await stat(file)).isFile()) return null;
  let lines = 0;
  let last: number | undefined;
  for await (const chunk of createReadStream(file)) {
    if (!(chunk instanceof Uint8Array)) continue;
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
    last = chunk.at(-1) ?? last;
  }
  return last === undefined || last === 0x0a ? lines : lines + 1;
}
