import type { Span } from '../tasks/facts.js';

/** Tokens of a response, from and up to but without. */
export interface TokenRange {
  readonly start: number;
  readonly end: number;
}

/** An answer cut into steps, with what is known of them. */
export interface StepAnswer {
  /** What it is grouped by: the family of its problem. */
  readonly task: string;
  readonly steps: readonly TokenRange[];
  /** Index of the first wrong step; `null` where none is. */
  readonly firstWrong: number | null;
  /**
   * By method or schedule, one for each token of the response. A token that a schedule does not attack has `null`, and
   * counts as 0: it is left out because its score is next to that.
   */
  readonly scores: ReadonlyMap<string, readonly (number | null)[]>;
}

/**
 * The step that the verifier's span is in: the one that it overlaps most, the earliest of equals. Where it overlaps none,
 * as a last line of white space, the last step before it.
 * @param steps where each is in the response, in the units of the span
 * @returns `null` where nothing is wrong, or there is no step
 */
export function firstWrongStep(span: Span | null, steps: readonly Span[]): number | null {
  if (!span || steps.length === 0) return null;
  const overlaps = steps.map(([start, end]) => Math.min(end, span[1]) - Math.max(start, span[0]));
  const largest = Math.max(...overlaps);
  if (largest > 0) return overlaps.indexOf(largest);
  return Math.max(
    0,
    steps.findLastIndex(([start]) => start <= span[0]),
  );
}
