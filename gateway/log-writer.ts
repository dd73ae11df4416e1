import { write } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { visible } from '../src/files/visible.js';

/** Bytes that may wait to be written. */
const MAX_WAITING = 1 << 20;
/** Delay until a descriptor that takes nothing just now is tried again. */
const RETRY_MS = 100;
const NEWLINE = 0x0a;

const writeTo = promisify(write);

/**
 * Writes lines to a descriptor without waiting: lines that a full disk or a closed pipe does not take are dropped, and
 * so are lines that come while a reader takes none. A destination for pino.
 */
export class LogWriter {
  readonly #fd: number;
  readonly #dropped: (lines: number) => void;
  readonly #lines: string[] = [];
  #waiting = 0;
  #isWriting = false;
  /** Whether the last line was cut. */
  #isTorn = false;

  /** @param dropped told how many lines were lost */
  constructor(fd: number, dropped: (lines: number) => void = () => {}) {
    this.#fd = fd;
    this.#dropped = dropped;
  }

  /** @param text a line with its line break */
  write(text: string): void {
    this.paint(visible(text));
  }

  /** The same for text that was made visible before it got colours; nothing is written for an empty one. */
  paint(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waiting + bytes > MAX_WAITING) {
      this.#dropped(1);
      return;
    }
    this.#lines.push(line);
    this.#waiting += bytes;
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#lines.length > 0) {
      const bytes = Buffer.from(this.#lines.splice(0).join(''));
      const rest = await this.#writeBytes(bytes);
      this.#waiting -= bytes.length;
      if (rest.length > 0) this.#dropped(rest.filter((byte) => byte === NEWLINE).length);
    }
    this.#isWriting = false;
  }

  /** @returns the bytes that could not be written */
  async #writeBytes(bytes: Buffer): Promise<Buffer> {
    let rest = bytes;
    try {
      if (this.#isTorn) await writeTo(this.#fd, '\n');
      this.#isTorn = false;
      while (rest.length > 0) rest = rest.subarray(await this.#writeSome(rest));
    } catch {
      const last = bytes[bytes.length - rest.length - 1];
      this.#isTorn ||= last !== undefined && last !== NEWLINE;
    }
    return rest;
  }

  async #writeSome(bytes: Buffer): Promise<number> {
    for (;;) {
      try {
        return (await writeTo(this.#fd, bytes)).bytesWritten;
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
        await setTimeout(RETRY_MS, null, { ref: false });
      }
    }
  }
}
