/**
 * Examples in the order of their scores, the highest first: sorted once, however often they are weighted anew. They come
 * in groups, which weigh alike.
 */
export interface Ranking {
  /** Of each example, in that order. */
  readonly group: Int32Array;
  readonly positive: Uint8Array;
  /** 1 where the next example scores less. */
  readonly lastOfTier: Uint8Array;
}

/**
 * @param group of each example; by default each is its own
 * @throws RangeError for a score that is not a number, or where there are not as many labels as scores
 */
export function rank(
  scores: readonly number[],
  positive: readonly boolean[],
  group?: readonly number[],
): Ranking {
  if (scores.length !== positive.length)
    throw new RangeError(`${scores.length} scores, but ${positive.length} labels`);
  if (scores.some(Number.isNaN)) throw new RangeError('a score is NaN');
  const order = Int32Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!);
  return {
    group: group ? order.map((example) => group[example]!) : order,
    positive: Uint8Array.from(order, (example) => Number(positive[example])),
    lastOfTier: Uint8Array.from(order, (example, i) => Number(scores[order[i + 1]!] !== scores[example])),
  };
}
