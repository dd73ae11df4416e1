import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../../cli/report.js';

/**
 * Results by the number of their problem, one JSON line each, written as they come: a run that is killed goes on where
 * it was. Without a file they are only remembered.
 */
export class Ledger<T> {
  readonly #file: string | null;
  readonly #results = new Map<number, T>();

  /** @param parse checks a result that was read; throws for one that does not fit */
  constructor(file: string | null, parse: (value: unknown) => T) {
    this.#file = file;
    if (file === null || !existsSync(file)) return;
    const text = readFileSync(file, 'utf8');
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    for (const line of whole.split('\n')) {
      if (line === '') continue;
      const { problem, ...result } = JSON.parse(line);
      this.#results.set(Number(problem), parse(result));
    }
    if (whole.length < text.length) writeFileSync(file, whole); // killed within a line
  }

  get(problem: number): T | undefined {
    return this.#results.get(problem);
  }

  add(problem: number, result: T): void {
    this.#results.set(problem, result);
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify({ problem, ...result })}\n`);
  }
}

/**
 * Makes a folder the place of one run: what is kept there under other settings must not be mixed with it.
 * @param settings all that the results depend on
 * @throws UsageError that names the first setting that differs
 */
export function claimFolder(folder: string, settings: Readonly<Record<string, unknown>>): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'settings.json');
  const mine = JSON.parse(JSON.stringify(settings));
  if (!existsSync(file)) {
    writeFileSync(file, `${JSON.stringify(mine, null, 2)}\n`);
    return;
  }
  const other = JSON.parse(readFileSync(file, 'utf8'));
  const differing = Object.keys({ ...mine, ...other }).find(
    (name) => !isDeepStrictEqual(mine[name], other[name]),
  );
  if (differing === undefined) return;
  const [was, is] = [other, mine].map((all) => JSON.stringify(all[differing]));
  throw new UsageError(`--out: ${folder} holds a run with another ${differing}: ${was}, not ${is}`);
}
