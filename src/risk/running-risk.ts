import { lowerBound } from '../numerics/distribution.js';
import { METHODS, type Method } from '../uncertainty/method-names.js';
import { type RiskModel, STATISTICS, type Statistic } from './risk.js';

/** With fewer a rank says next to nothing; what flags need is a rank among the rarest. */
export const MIN_TOKENS = 200;
export const MIN_STEPS = 50;
export const MIN_ANSWERS = 50;

/** Scores of a kind that are remembered. */
const REMEMBERED = 4096;

/**
 * The rank of a score among the last 4096 of its kind: what is left to go by where nobody calibrated the model. Right
 * and wrong steps are in it alike, and it follows whatever the model is asked. One of them serves many responses; they
 * must be scored under the same settings.
 *
 * It learns from all that it is asked about: also from candidates that a rollback rejects, and again from a step that
 * is judged again.
 */
export class RunningRisk implements RiskModel {
  readonly #tokens = new Map<Method, RecentScores>();
  readonly #steps = new Map<`${Method} ${Statistic}`, RecentScores>();
  readonly #answers = new Map<`${Method} ${Statistic}`, RecentScores>();

  /** @param remembered scores of a kind */
  constructor(remembered = REMEMBERED) {
    for (const method of METHODS) {
      this.#tokens.set(method, new RecentScores(remembered, MIN_TOKENS));
      for (const statistic of STATISTICS) {
        this.#steps.set(`${method} ${statistic}`, new RecentScores(remembered, MIN_STEPS));
        this.#answers.set(`${method} ${statistic}`, new RecentScores(remembered, MIN_ANSWERS));
      }
    }
  }

  calibrated(): boolean {
    return false;
  }

  ofToken(method: Method, score: number): number | null {
    return this.#tokens.get(method)!.rank(score);
  }

  ofStep(method: Method, statistic: Statistic, score: number): number | null {
    return this.#steps.get(`${method} ${statistic}`)!.rank(score);
  }

  ofAnswer(method: Method, statistic: Statistic, score: number): number | null {
    return this.#answers.get(`${method} ${statistic}`)!.rank(score);
  }
}

/** The last scores, in their order and sorted. */
class RecentScores {
  readonly #capacity: number;
  readonly #least: number;
  /** A ring: the oldest is overwritten. */
  #recent = new Float64Array(0);
  #sorted = new Float64Array(0);
  #count = 0;
  #next = 0;

  /** @param least how many must be known for a rank */
  constructor(capacity: number, least: number) {
    this.#capacity = capacity;
    this.#least = least;
  }

  /** Share of the scores seen before that are lower; learns the score. */
  rank(score: number): number | null {
    const below = lowerBound(this.#sorted, score, this.#count);
    const rank = this.#count < this.#least ? null : below / (this.#count + 1);
    this.#learn(score, below);
    return rank;
  }

  #learn(score: number, place: number): void {
    if (this.#recent.length === 0) {
      this.#recent = new Float64Array(this.#capacity);
      this.#sorted = new Float64Array(this.#capacity);
    }
    if (this.#count < this.#capacity) {
      this.#sorted.copyWithin(place + 1, place, this.#count);
      this.#sorted[place] = score;
      this.#count += 1;
    } else {
      // The oldest leaves a gap; what lies between the gap and the place of the new one moves by one.
      const gap = lowerBound(this.#sorted, this.#recent[this.#next]!);
      if (gap < place) this.#sorted.copyWithin(gap, gap + 1, place);
      else this.#sorted.copyWithin(place + 1, place, gap);
      this.#sorted[gap < place ? place - 1 : place] = score;
    }
    this.#recent[this.#next] = score;
    this.#next = (this.#next + 1) % this.#capacity;
  }
}
