import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeWhole } from '#bench/result-log.js';
import { note } from '#cli/terminal.js';
import { type Part, stampFile, versionOf, type Workshop } from './peer-part.js';
import { type ProgramOptions, runProgram } from './run-program.js';

/** Begins the name of a folder in which a part is made; what is left of an interrupted run is removed. */
export const UNFINISHED = '.unfinished-';

/** Makes parts, each once, one after the other. */
export class PartsMaker implements Workshop {
  readonly root: string;
  readonly signal: AbortSignal;
  readonly #asked = new Map<string, Promise<void>>();
  #log = '';
  #shown = '';

  constructor(root: string, signal: AbortSignal) {
    this.root = root;
    this.signal = signal;
  }

  /**
   * Makes a part unless it is there in this version, and before it what it needs.
   *
   * @throws UsageError if it cannot be made. What was there before, also of an older version, is still there.
   */
  provide(part: Part): Promise<void> {
    const asked = this.#asked.get(part.path) ?? this.#provide(part);
    this.#asked.set(part.path, asked);
    return asked;
  }

  async #provide(part: Part): Promise<void> {
    const version = await part.version();
    if (versionOf(this.root, part) === version) return;
    for (const need of part.needs?.() ?? []) await this.provide(need);
    this.signal.throwIfAborted();
    this.#log = join(this.root, 'logs', `${part.path.replaceAll('/', '.')}.log`);
    mkdirSync(dirname(this.#log), { recursive: true });
    rmSync(this.#log, { force: true });
    this.line(`${part.path} (log: ${this.#log})`);
    const folder = await mkdtemp(join(this.root, UNFINISHED));
    try {
      const target = join(folder, basename(part.path));
      await part.make(target, this);
      this.signal.throwIfAborted();
      await this.#place(part, target);
      writeWhole(stampFile(this.root, part), version);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Moves a part to its place. If this is interrupted, the stamp is missing, and the part is made again. */
  async #place(part: Part, target: string): Promise<void> {
    const place = join(this.root, part.path);
    mkdirSync(join(this.root, 'set-up'), { recursive: true });
    mkdirSync(dirname(place), { recursive: true });
    rmSync(stampFile(this.root, part), { force: true });
    await rm(place, { recursive: true, force: true });
    await rename(target, place);
  }

  run(
    command: string,
    args: readonly string[],
    options: Pick<ProgramOptions, 'env' | 'onLine' | 'hint'> = {},
  ): Promise<string> {
    appendFileSync(this.#log, `\n$ ${command} ${args.join(' ')}\n`);
    return runProgram(command, args, { ...options, cwd: this.root, log: this.#log, signal: this.signal });
  }

  line(text: string): void {
    note(`  ${text}\n`);
  }

  progress(name: string, done: number, total: number | null): void {
    const text = `${name}: ${total ? 10 * Math.floor((10 * done) / total) : 0} %`;
    if (text !== this.#shown) this.line(text);
    this.#shown = text;
  }
}
