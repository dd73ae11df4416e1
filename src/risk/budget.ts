/** Last answers that an answer is compared with. Few: what is asked changes. */
const RECENT = 50;
/** Answers that may be taken beyond the share, and a little more. With fewer, chance decides instead of the score. */
const AHEAD = 3;

/**
 * Takes a share of all answers, those with the highest scores, whatever the scores are of.
 *
 * An answer is taken if its rank among the last 50 is at least 1 − level. The level is the share, plus a third of it for
 * each answer that the budget has left, less a third for each that it is ahead (adaptive conformal inference, Gibbs and
 * Candès, arXiv 2106.00263, with a step of share / 3). So of n answers at most `share · n + 4` are taken, whatever comes.
 *
 * @example
 * const budget = new Budget();
 * const isTaken = budget.takes(0.3, 12.5);
 */
export class Budget {
  readonly #recent: number[] = [];
  /** Answers that the shares allowed so far, less those that were taken. */
  #left = 0;

  /**
   * @param share of all answers, above 0, at most 1
   * @param score the higher, the rather it is taken; −∞ for an answer without one, which is not taken, but counts
   */
  takes(share: number, score: number): boolean {
    const level = share * (1 + this.#left / AHEAD);
    const isTaken = score > Number.NEGATIVE_INFINITY && this.#rank(score) >= 1 - level;
    if (this.#recent.push(score) > RECENT) this.#recent.shift();
    // At a level of 1 all are taken that can be: what is left then is lost.
    const most = AHEAD * (1 / share - 1);
    this.#left = Math.min(most, this.#left + share - (isTaken ? 1 : 0));
    return isTaken;
  }

  /** Middle of the ranks that a score shares with its equals, in (0, 1). */
  #rank(score: number): number {
    const lower = this.#recent.filter((other) => other < score).length;
    const equal = 1 + this.#recent.filter((other) => other === score).length;
    return (lower + equal / 2) / (this.#recent.length + 1);
  }
}
