import type { Evaluation } from '../run/evaluation.js';
import type { ScoredCase } from './case.js';

/** Places from the first token of a response to its last. */
export const CURVE_PLACES = 50;

/**
 * A response's scores at even places, between tokens on the straight line, divided by the largest.
 * @param scores `null`, not attacked, counts as 0
 */
export function curveOf(scores: readonly (number | null)[]): Float64Array {
  const values = Float64Array.from(scores, (score) => score ?? 0);
  const largest = values.reduce((a, b) => Math.max(a, b), 0);
  return Float64Array.from({ length: CURVE_PLACES }, (_, i) => {
    const place = (i / (CURVE_PLACES - 1)) * (values.length - 1);
    const before = Math.floor(place);
    const after = Math.min(before + 1, values.length - 1);
    const value = values[before]! + (place - before) * (values[after]! - values[before]!);
    return largest > 0 ? value / largest : 0;
  });
}

/** The mean curves of right and of wrong responses. */
export function curveRows(cases: readonly ScoredCase[], measures: readonly string[]): Evaluation['curves'] {
  return measures.flatMap((measure) =>
    [true, false].flatMap((correct) => {
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
    }),
  );
}
