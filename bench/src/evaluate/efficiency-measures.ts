import type { Evaluation } from '../records/evaluation.js';
import type { TimeRecord } from '../records/records.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import { written } from './measure-table.js';

/**
 * Mean time that each measure adds to a response, its share of the time that writing the responses took, and the most
 * memory that any of them took.
 */
export function efficiencyTable(
  times: readonly TimeRecord[],
  measures: readonly string[],
  options: BootstrapOptions,
): Evaluation['efficiency'] {
  return measures.flatMap((measure) => {
    const timed = times.flatMap(({ generation, measures: { [measure]: added } }) =>
      added === undefined ? [] : [{ generation, added }],
    );
    if (timed.length === 0) return [];
    const [seconds, relative] = bootstrap(
      timed.length,
      (weights) => {
        let [added, generation] = [0, 0];
        for (const [i, time] of timed.entries()) {
          added += weights[i]! * time.added;
          generation += weights[i]! * time.generation;
        }
        return [added / timed.length, added / generation];
      },
      options,
    );
    const bytes = times.flatMap(({ memory: { [measure]: grown } }) => grown ?? []);
    return [
      {
        measure,
        n: timed.length,
        seconds: written(seconds!),
        relative: written(relative!),
        memory: bytes.length > 0 ? Math.max(...bytes) : null,
      },
    ];
  });
}
