import { lowerBound } from '../numerics/distribution.js';
import { METHODS, type Method } from '../uncertainty/method-names.js';
import type { RiskModel } from './risk.js';

/** Minimum numbers of scores: with fewer a rank says next to nothing; flags need a rank among the rarest. */
export const MIN_TOKENS = 200;
export const MIN_STEPS = 50;
export const MIN_ANSWERS = 50;

/** Scores of a kind that are remembered; at first there is room for some. */
const REMEMBERED = 4096;
const FIRST_ROOM = 256;
/** Share of the remembered scores that one answer can contribute. */
const ANSWER_SHARE = 1 / 8;

/**
 * The rank of a score among the last 4096 of its kind: a fallback if there is no calibration of the model.
 * Right and wrong steps are in it alike, and it follows whatever the model is asked. One of them serves many
 * responses; they must be scored under the same settings.
 *
 * It learns from all that it is asked about: also from candidates that a rollback rejects, and again from a step that
 * is judged again.
 */
export class RunningRisk implements RiskModel {
  readonly #mostOfAnswer: number;
  readonly #tokens = new Map<Method, RecentScores>();
  readonly #steps = new Map<Method, RecentScores>();
  readonly #answers = new Map<Method, RecentScores>();

  /** @param remembered scores of a kind */
  constructor(remembered = REMEMBERED) {
    this.#mostOfAnswer = Math.ceil(ANSWER_SHARE * remembered);
    for (const method of METHODS) {
      this.#tokens.set(method, new RecentScores(remembered, MIN_TOKENS));
      this.#steps.set(method, new RecentScores(remembered, MIN_STEPS));
      this.#answers.set(method, new RecentScores(remembered, MIN_ANSWERS));
    }
  }

  calibrated(): boolean {
    return false;
  }

  ofToken(method: Method, score: number): number | null {
    return this.#tokens.get(method)!.rank(score);
  }

  /** Rank of a step. Per answer it is `null`: the highest step of an answer is known at its end. */
  ofStep(method: Method, score: number, per?: 'step' | 'answer'): number | null {
    return per === 'answer' ? null : this.#steps.get(method)!.rank(score);
  }

  ofAnswer(method: Method, score: number, among?: 'ordinary' | 'all'): number | null {
    return among === 'all' ? null : this.#answers.get(method)!.rank(score);
  }

  seenAnswers(method: Method): number {
    return this.#answers.get(method)!.count;
  }

  /**
   * The same for one answer, which teaches it an eighth of what it remembers at most: no single one is the measure.
   * @param teaches false: nothing
   */
  ofOneAnswer(teaches = true): RiskModel {
    const most = teaches ? this.#mostOfAnswer : 0;
    const taught = new Map<RecentScores, number>();
    const rank = (recent: RecentScores, score: number): number | null => {
      const before = taught.get(recent) ?? 0;
      taught.set(recent, before + 1);
      return recent.rank(score, before < most);
    };
    return {
      calibrated: () => false,
      ofToken: (method, score) => rank(this.#tokens.get(method)!, score),
      ofStep: (method, score, per) => (per === 'answer' ? null : rank(this.#steps.get(method)!, score)),
      ofAnswer: (method, score, among) => (among === 'all' ? null : rank(this.#answers.get(method)!, score)),
      seenAnswers: (method) => this.seenAnswers(method),
    };
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

  get count(): number {
    return this.#count;
  }

  /** Share of the scores seen before that are lower; learns the score. */
  rank(score: number, learns = true): number | null {
    const below = lowerBound(this.#sorted, score, this.#count);
    const rank = this.#count < this.#least ? null : below / (this.#count + 1);
    if (learns) this.#learn(score, below);
    return rank;
  }

  #learn(score: number, place: number): void {
    if (this.#count === this.#recent.length && this.#count < this.#capacity) {
      const room = Math.min(this.#capacity, Math.max(FIRST_ROOM, 2 * this.#count));
      this.#recent = grown(this.#recent, room);
      this.#sorted = grown(this.#sorted, room);
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

function grown(values: Float64Array<ArrayBuffer>, room: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(room);
  larger.set(values);
  return larger;
}
