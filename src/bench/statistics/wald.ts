/**
 * Half the width of the paper's 95 % intervals of hit rates: 1.96 √(p (1 − p) / n). For comparison alone: ours are
 * Wilson's, which also hold for few cases and near 0 and 1.
 */
export const waldHalfWidth = (share: number, trials: number): number =>
  1.96 * Math.sqrt((share * (1 - share)) / trials);
