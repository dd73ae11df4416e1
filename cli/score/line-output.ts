import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { visible } from '../../src/files/visible.js';
import { streams } from '../terminal.js';

/** Lines to a file or to standard output, no faster than they are taken; a full disk is an error of `write`. */
export class LineOutput {
  readonly #stream: Writable;
  #error: Error | null = null;

  private constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('error', (error) => {
      this.#error = error;
    });
  }

  /** @param name `-` for standard output */
  static async open(name: string): Promise<LineOutput> {
    if (name === '-') return new LineOutput(streams.stdout);
    const file = createWriteStream(name);
    await once(file, 'ready');
    return new LineOutput(file);
  }

  async write(line: string): Promise<void> {
    if (this.#error) throw this.#error;
    if (!this.#stream.write(`${visible(line)}\n`)) await once(this.#stream, 'drain');
  }

  /** Waits until a file is written; standard output stays open. */
  async close(): Promise<void> {
    if (this.#stream !== streams.stdout) await new Promise<void>((resolve) => this.#stream.end(resolve));
    if (this.#error) throw this.#error;
  }
}
