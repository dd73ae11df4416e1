import type { Evaluation } from '../records/evaluation.js';

/** Places from the first token of a response to its last. */
export const CURVE_PLACES = 50;

/**
 * A response's scores at even places, between tokens on the straight line.
 * @param scores `null`, skipped by the schedule, is drawn as 0
 */
export function curveOf(scores: readonly (number | null)[]): Float64Array {
  const curve = new Float64Array(CURVE_PLACES);
  const last = scores.length - 1;
  for (let i = 0; i < CURVE_PLACES; i += 1) {
    const place = (i / (CURVE_PLACES - 1)) * last;
    const before = Math.floor(place);
    const value = scores[before] ?? 0;
    const after = scores[Math.min(before + 1, last)] ?? 0;
    curve[i] = value + (place - before) * (after - value);
  }
  return curve;
}

/** Data of a scored response that the curves need. */
interface CurveCase {
  readonly correct: boolean;
  readonly measures: ReadonlyMap<string, { readonly curve: Float64Array | null }>;
}

/** The mean curves of right and of wrong responses, both divided by the largest mean of either: they can be compared. */
export function curveRows(cases: readonly CurveCase[], measures: readonly string[]): Evaluation['curves'] {
  return measures.flatMap((measure) => {
    const rows = [true, false].flatMap((correct) => {
      const curves = cases.flatMap((one) => {
        const curve = one.correct === correct ? one.measures.get(measure)?.curve : null;
        return curve ? [curve] : [];
      });
      if (curves.length === 0) return [];
      const mean = Array.from(
        { length: CURVE_PLACES },
        (_, i) => curves.reduce((sum, curve) => sum + curve[i]!, 0) / curves.length,
      );
      return [{ measure, correct, n: curves.length, mean }];
    });
    const largest = Math.max(...rows.flatMap(({ mean }) => mean.map(Math.abs)));
    const scale = largest > 0 ? largest : 1;
    return rows.map(({ mean, ...row }) => ({
      ...row,
      scale: 'curves' as const,
      mean: mean.map((value) => value / scale),
    }));
  });
}
