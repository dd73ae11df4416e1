import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProgramOptions } from './run-program.js';

/** Tools for making a part. */
export interface Workshop {
  /** The peers' folder. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** Tells the user what is done. */
  line(text: string): void;
  /** Tells how far something is, by tenths. */
  progress(name: string, done: number, total: number | null): void;
  /** Runs a program; its output is kept in the part's log. Returns the standard output. */
  run(
    command: string,
    args: readonly string[],
    options?: Pick<ProgramOptions, 'env' | 'onLine' | 'hint'>,
  ): Promise<string>;
}

/** Something that is set up as a whole or not at all: a file or a folder below the peers' folder. */
export interface Part {
  /** Below the peers' folder. */
  readonly path: string;
  /** Identity of its sources. A part of another version is made again. */
  readonly version: () => string | Promise<string>;
  /** Parts that are needed to make it. */
  readonly needs?: () => readonly Part[];
  /** Makes it at a path of its own, from where it is moved to its place. */
  readonly make: (target: string, workshop: Workshop) => Promise<void>;
}

/** Holds the version. Written after the part is in its place: says that it is whole. */
export const stampFile = (root: string, { path }: Part): string =>
  join(root, 'set-up', path.replaceAll('/', '.'));

/** `null` if the part is not set up. */
export function versionOf(root: string, part: Part): string | null {
  const file = stampFile(root, part);
  return existsSync(file) && existsSync(join(root, part.path)) ? readFileSync(file, 'utf8') : null;
}

/** Scripts, in the folder beside `src` and `dist`. */
export const script = (name: string): string =>
  fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));

/** Changes when one of the scripts does. */
export function digestOfScripts(...names: readonly string[]): string {
  const hash = createHash('sha256');
  for (const name of names) hash.update(readFileSync(script(name)));
  return hash.digest('hex').slice(0, 16);
}
