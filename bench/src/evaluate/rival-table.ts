import type { Evaluation } from '../records/evaluation.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import type { PlacedRival } from './rivals.js';
import { written } from './table.js';

/** Means over the responses, by place. */
export function rivalTable(
  cases: readonly { readonly rivals: readonly PlacedRival[] }[],
  options: BootstrapOptions,
): Evaluation['rivals'] {
  return (['wrong', 'before', 'right'] as const).flatMap((place) => {
    const mine = cases.flatMap(({ rivals }) => rivals.filter((rival) => rival.place === place));
    if (mine.length === 0) return [];
    const fields = ['fall', 'before', 'after'] as const;
    const [fall, before, after] = bootstrap(
      mine.length,
      (weights) =>
        fields.map((field) => mine.reduce((sum, one, i) => sum + weights[i]! * one[field], 0) / mine.length),
      options,
    ).map(written);
    return [{ place, n: mine.length, fall: fall!, before: before!, after: after! }];
  });
}
