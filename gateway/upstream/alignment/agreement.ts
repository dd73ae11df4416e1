import { reckoned } from '../../../src/numerics/least-logprob.js';
import type { ScorerMismatchEvent } from '../../../src/stream/events.js';

/** Tokens that are compared before anything is said. */
const LEAST_TOKENS = 16;
/** Latest generations, for the total of answers that are each too short to be judged. */
const WINDOW = 200;
/** A token that one side holds for all but impossible says no more than this. In nats. */
const MOST_PER_TOKEN = 2;
/** Difference in nats: see docs/upstreams.md for the effect of rounding and quantisation. */
const TOLERANCE = 0.2;

export interface AgreementState {
  /** Compared so far, in all generations. */
  readonly tokens: number;
  /** Mean absolute difference of their log-probabilities, in nats; `null` before the first. */
  readonly difference: number | null;
  readonly tolerance: number;
  /** Generations in which the two did not agree. */
  readonly mismatches: number;
}

export class Agreement {
  readonly #onMismatch: (mismatch: ScorerMismatchEvent) => void;
  readonly #all = new Difference();
  readonly latest = new Difference(WINDOW);
  #mismatches = 0;
  /** Tokens compared since the last mismatch. */
  #since = 0;

  /** @param onMismatch called once for each generation in which they do not */
  constructor(onMismatch: (mismatch: ScorerMismatchEvent) => void) {
    this.#onMismatch = onMismatch;
  }

  get state(): AgreementState {
    const { tokens, mean } = this.#all;
    const difference = tokens === 0 ? null : mean;
    return { tokens, difference, tolerance: TOLERANCE, mismatches: this.#mismatches };
  }

  /** Whether they did not agree, and have not agreed again over as many tokens as are looked back upon. */
  get doubtful(): boolean {
    return this.#mismatches > 0 && (this.#since < WINDOW || this.latest.mean > TOLERANCE);
  }

  /** Agreement of one generation with all its continuations. */
  begin(): GenerationAgreement {
    return new GenerationAgreement(this);
  }

  add(difference: number): void {
    this.#all.add(difference);
    this.latest.add(difference);
    this.#since += 1;
  }

  mismatched(mismatch: ScorerMismatchEvent): void {
    this.#mismatches += 1;
    this.#since = 0;
    this.#onMismatch(mismatch);
  }
}

/**
 * Compares what scorer and server say of the same tokens, both at temperature 1. The mean absolute difference of their
 * log-probabilities is near 0 for the same weights, however the tokens were sampled; other weights differ most where a
 * token was doubtful.
 */
export class GenerationAgreement {
  readonly #whole: Agreement;
  readonly #own = new Difference();
  #mismatch: ScorerMismatchEvent | null = null;
  #reported = false;

  constructor(whole: Agreement) {
    this.#whole = whole;
  }

  /** @param sent by the server; `null` where it does not say */
  compare(scored: number, sent: number | null): void {
    const sentLogprob = reckoned(sent);
    if (sentLogprob === null) return;
    const difference = Math.min(Math.abs(scored - sentLogprob), MOST_PER_TOKEN);
    this.#own.add(difference);
    this.#whole.add(difference);
    // One that is too short by itself is judged by those before it, unless it is itself in agreement.
    const { tokens, mean } = this.#own.tokens < LEAST_TOKENS ? this.#whole.latest : this.#own;
    if (this.#mismatch || tokens < LEAST_TOKENS || mean <= TOLERANCE || this.#own.mean <= TOLERANCE) return;
    this.#mismatch = { type: 'scorer.mismatch', tokens, difference: mean, tolerance: TOLERANCE };
    this.#whole.mismatched(this.#mismatch);
  }

  /** The event, the first time that it is asked for after they were found not to agree. */
  take(): ScorerMismatchEvent[] {
    if (!this.#mismatch || this.#reported) return [];
    this.#reported = true;
    return [this.#mismatch];
  }
}

/** Mean of differences: of all, or of the latest. */
class Difference {
  readonly #window: number;
  readonly #values: number[] = [];
  tokens = 0;
  mean = 0;

  constructor(window = Number.POSITIVE_INFINITY) {
    this.#window = window;
  }

  add(difference: number): void {
    if (this.tokens < this.#window) {
      this.tokens += 1;
      this.mean += (difference - this.mean) / this.tokens;
    } else {
      this.mean += (difference - this.#values.shift()!) / this.tokens;
    }
    if (Number.isFinite(this.#window)) this.#values.push(difference);
  }
}
