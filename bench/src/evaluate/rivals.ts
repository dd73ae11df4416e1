import type { Evaluation } from '../records/evaluation.js';
import type { ScoreRecord } from '../records/records.js';

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
