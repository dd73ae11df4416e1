import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeWhole } from '#bench/result-log.js';
import { diskUsage } from './disk-usage.js';
import { type Part, stampFile, stampOf, type Workshop } from './part.js';
import { type ProgramOptions, runProgram } from './run-program.js';
import type { SetUpView } from './set-up-view.js';

/** Begins the name of a folder in which a part is made; what is left of an interrupted run is removed. */
export const UNFINISHED = '.unfinished-';

/** Makes parts, each once, one after the other. */
export class PartsMaker implements Workshop {
  readonly root: string;
  readonly view: SetUpView;
  readonly signal: AbortSignal;
  readonly #asked = new Map<string, Promise<void>>();
  #log = '';

  constructor(root: string, view: SetUpView, signal: AbortSignal) {
    this.root = root;
    this.view = view;
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
    if (stampOf(this.root, part)?.version === version) return;
    for (const need of part.needs?.() ?? []) await this.provide(need);
    this.signal.throwIfAborted();
    this.#openLog(part);
    const folder = await mkdtemp(join(this.root, UNFINISHED));
    try {
      const target = join(folder, basename(part.path));
      await part.make(target, this);
      this.signal.throwIfAborted();
      const bytes = await diskUsage(target);
      await this.#place(part, target);
      writeWhole(stampFile(this.root, part), JSON.stringify({ version, bytes }));
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

  /** Runs a program of the part that is being made. */
  run(
    command: string,
    args: readonly string[],
    options: Pick<ProgramOptions, 'env' | 'onLine' | 'hint'> = {},
  ): Promise<string> {
    appendFileSync(this.#log, `\n$ ${command} ${args.join(' ')}\n`);
    return runProgram(command, args, { ...options, cwd: this.root, log: this.#log, signal: this.signal });
  }

  #openLog({ path }: Part): void {
    const folder = join(this.root, 'logs');
    mkdirSync(folder, { recursive: true });
    this.#log = join(folder, `${path.replaceAll('/', '.')}.log`);
    rmSync(this.#log, { force: true });
    this.view.making(path, this.#log);
  }
}
