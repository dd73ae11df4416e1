import { availableParallelism } from 'node:os';
import { Progress } from 'flinch/internals';
import { from, fromEvent, lastValueFrom, mergeMap, takeUntil, toArray } from 'rxjs';

/** Texts that are under way at once: runs of the engine are shared. */
export const CONCURRENCY = 8 * availableParallelism();

export interface EachOptions {
  /** How many at a time. */
  readonly concurrency?: number;
  /** Done before: the bar begins there. */
  readonly done?: number;
  /** When this is aborted, nothing more begins, and its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** Works on many at a time, with a progress bar; results are in the order of the items. */
export async function each<T, R>(
  name: string,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  { concurrency = CONCURRENCY, done = 0, signal = new AbortController().signal }: EachOptions = {},
): Promise<R[]> {
  signal.throwIfAborted();
  const progress = new Progress(done + items.length, name, done);
  try {
    const results = from(items.entries()).pipe(
      mergeMap(async ([index, item]) => {
        const result = await work(item, index);
        progress.advance();
        return [index, result] as const;
      }, concurrency),
      takeUntil(fromEvent(signal, 'abort')),
      toArray(),
    );
    const all = await lastValueFrom(results, { defaultValue: [] });
    signal.throwIfAborted();
    return all.sort(([a], [b]) => a - b).map(([, result]) => result);
  } finally {
    progress.stop();
  }
}
