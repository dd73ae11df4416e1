import { createReadStream } from 'node:fs';
import { SingleBar } from 'cli-progress';

/** A bar on standard error, where people see it and pipes do not. */
export class Progress {
  readonly #bar: SingleBar;

  /** @param total `null` when it is not known */
  constructor(total: number | null) {
    const format =
      total === null ? '{value} scored, {duration_formatted}' : '{bar} {value}/{total}, {eta_formatted} left';
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

/** Lines of a file, read once without keeping it. */
export async function countLines(file: string): Promise<number> {
  let lines = 0;
  let last: number | undefined;
  for await (const chunk of createReadStream(file)) {
    if (!(chunk instanceof Uint8Array)) continue;
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
    last = chunk.at(-1) ?? last;
  }
  return last === undefined || last === 0x0a ? lines : lines + 1;
}
