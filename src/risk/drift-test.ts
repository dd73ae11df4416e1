/** A bet on a rank of 1 gains half of this, and on a rank of 0 loses as much. */
const STAKE = 1.5;

/** Upper limit: after a long drift the statistic would otherwise take as long to return. */
const MOST = 1e9;

/**
 * Tells whether answers still look like those of a calibration: a Shiryaev–Roberts statistic of two conformal test
 * martingales, one of which bets that ranks are higher than they were, the other that they are lower.
 *
 * While answers are exchangeable with those of the calibration, ranks are uniform in [0, 1], no bet gains on average, and
 * at least `c` answers pass on average before the value exceeds `c`. A mean rank within 0.06 of one half is not found: the
 * chance of which answers were collected may cause it.
 *
 * Vovk et al., Retrain or not retrain: conformal test martingales for change-point detection, arXiv 2102.10439.
 */
export class DriftTest {
  #higher = 0;
  #lower = 0;

  /** @param rank of an answer among all those of the calibration, in [0, 1] */
  observe(rank: number): void {
    const bet = STAKE * (rank - 0.5);
    this.#higher = Math.min(MOST, (1 + this.#higher) * (1 + bet));
    this.#lower = Math.min(MOST, (1 + this.#lower) * (1 - bet));
  }

  /** Value of the statistic, starting at 0. */
  get value(): number {
    return (this.#higher + this.#lower) / 2;
  }
}
