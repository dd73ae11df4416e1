import { availableParallelism } from 'node:os';
import { from, lastValueFrom, mergeMap, toArray } from 'rxjs';
import { Progress } from '../cli/progress.js';

/** Texts that are under way at once: runs of the engine are shared. */
const CONCURRENCY = 8 * availableParallelism();

/** Works on many at a time, with a progress bar; results are in the order of the items. */
export async function each<T, R>(
  name: string,
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const progress = new Progress(items.length, name);
  try {
    const results = from(items.entries()).pipe(
      mergeMap(async ([index, item]) => {
        const result = await work(item, index);
        progress.advance();
        return [index, result] as const;
      }, CONCURRENCY),
      toArray(),
    );
    const all = await lastValueFrom(results, { defaultValue: [] });
    return all.sort(([a], [b]) => a - b).map(([, result]) => result);
  } finally {
    progress.stop();
  }
}
