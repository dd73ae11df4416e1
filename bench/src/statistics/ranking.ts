/**
 * Examples in the order of their scores, the highest first: sorted once, however often they are weighted anew. They come
 * in groups, which weigh alike.
 */
export interface Ranking {
  /** 4 · group, + 2 for a positive example, + 1 if the next one scores less: one number is read fastest. */
  readonly examples: Int32Array;
}

export const POSITIVE = 2;
export const LAST_OF_TIER = 1;
export const groupOf = (example: number): number => example >> 2;

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
  const examples = order.map((example, i) => {
    const isLast = scores[order[i + 1]!] !== scores[example];
    const own = group ? group[example]! : example;
    return 4 * own + (positive[example] ? POSITIVE : 0) + (isLast ? LAST_OF_TIER : 0);
  });
  return { examples };
}
