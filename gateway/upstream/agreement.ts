import type { ScorerMismatchEvent } from '../../src/stream/events.js';

/** Tokens that are compared before anything is said. */
const LEAST_TOKENS = 16;
/** A token that one side holds for all but impossible says no more than this. In nats. */
const MOST_PER_TOKEN = 2;
/** In nats: see docs/upstreams.md for what rounding and quantisation come to. */
export const TOLERANCE = 0.2;

export interface AgreementState {
  /** Compared so far, in all generations. */
  readonly tokens: number;
  /** Mean absolute difference of their log-probabilities, in nats; `null` before the first. */
  readonly difference: number | null;
  readonly tolerance: number;
  /** Generations in which the two did not agree. */
  readonly mismatches: number;
}

/** Whether a model's scorer agrees with its servers. */
export class Agreement {
  readonly #onMismatch: (mismatch: ScorerMismatchEvent) => void;
  readonly #all = new Difference();
  #mismatches = 0;

  /** @param onMismatch called once for each generation in which they do not */
  constructor(onMismatch: (mismatch: ScorerMismatchEvent) => void) {
    this.#onMismatch = onMismatch;
  }

  get state(): AgreementState {
    const { tokens, mean } = this.#all;
    return {
      tokens,
      difference: tokens === 0 ? null : mean,
      tolerance: TOLERANCE,
      mismatches: this.#mismatches,
    };
  }

  /** Of one generation with all its continuations. */
  begin(): GenerationAgreement {
    return new GenerationAgreement(
      (difference) => this.#all.add(difference),
      (mismatch) => {
        this.#mismatches += 1;
        this.#onMismatch(mismatch);
      },
    );
  }
}

/**
 * Compares what scorer and server say of the same tokens, both at temperature 1. The mean absolute difference of their
 * log-probabilities is near 0 for the same weights, however the tokens were sampled; other weights differ most where a
 * token was doubtful.
 */
export class GenerationAgreement {
  readonly #each: (difference: number) => void;
  readonly #onMismatch: (mismatch: ScorerMismatchEvent) => void;
  readonly #own = new Difference();
  #mismatch: ScorerMismatchEvent | null = null;
  #told = false;

  constructor(each: (difference: number) => void, onMismatch: (mismatch: ScorerMismatchEvent) => void) {
    this.#each = each;
    this.#onMismatch = onMismatch;
  }

  /** @param told by the server; `null` where it does not say */
  compare(scored: number, told: number | null): void {
    if (told === null) return;
    const difference = Math.min(Math.abs(scored - told), MOST_PER_TOKEN);
    this.#own.add(difference);
    this.#each(difference);
    const { tokens, mean } = this.#own;
    if (this.#mismatch || tokens < LEAST_TOKENS || mean <= TOLERANCE) return;
    this.#mismatch = { type: 'scorer.mismatch', tokens, difference: mean, tolerance: TOLERANCE };
    this.#onMismatch(this.#mismatch);
  }

  /** The event, the first time that it is asked for after they were found not to agree. */
  take(): ScorerMismatchEvent[] {
    if (!this.#mismatch || this.#told) return [];
    this.#told = true;
    return [this.#mismatch];
  }
}

class Difference {
  tokens = 0;
  mean = 0;

  add(difference: number): void {
    this.tokens += 1;
    this.mean += (difference - this.mean) / this.tokens;
  }
}
