import type { Evaluation } from '../run/evaluation.js';
import type { ScoreRecord } from '../run/records.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import { written } from './table.js';

type Place = Evaluation['rivals'][number]['place'];

/** The token of a part of a response that the adversary moves most, and its rival. */
export interface PlacedRival {
  readonly place: Place;
  readonly fall: number;
  readonly before: number;
  readonly after: number;
}

/**
 * @param wrong tokens of the first wrong step, of a response that counts for tables of hits
 * @param correct whether the final answer is right
 */
export function placedRivals(
  { tokens, rivals }: Pick<ScoreRecord, 'tokens' | 'rivals'>,
  length: number,
  wrong: { readonly start: number; readonly end: number } | null,
  correct: boolean,
): PlacedRival[] {
  const falls = rivals && tokens[rivals.measure];
  if (!falls) return [];
  const highest = (place: Place, from: number, to: number): PlacedRival[] => {
    let best: PlacedRival | null = null;
    for (let i = from; i < to; i += 1) {
      const [fall, rival] = [falls[i] ?? null, rivals.tokens[i]];
      if (fall === null || !rival || (best && fall <= best.fall)) continue;
      best = { place, fall, before: rival.before, after: rival.after };
    }
    return best ? [best] : [];
  };
  if (wrong) return [...highest('wrong', wrong.start, wrong.end), ...highest('before', 0, wrong.start)];
  return correct ? highest('right', 0, length) : [];
}

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
