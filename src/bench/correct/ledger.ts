import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

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
