import type { PassMessage, PassToken } from '../engine-messages.js';

/** Steps of a job, run by run. If a run fails, its error is thrown into the generator. */
export type Runs<Result> = Generator<() => Promise<void>, Result>;

/**
 * A sequence whose keys and values are held where its graphs run, and not by the worker. Texts are given whole: what is held may
 * be lost at any time, and is then read again.
 */
export interface HeldSequence {
  /** Reads the first `end` tokens ahead. */
  read(ids: readonly number[], end: number): Runs<void>;
  /** Statistics of tokens `from` to `to − 1`. */
  score(
    ids: readonly number[],
    pass: Pick<PassMessage, 'start' | 'from' | 'to' | 'adversary' | 'top'>,
  ): Runs<PassToken[]>;
  /** Another text with the same first `length` tokens. It takes over what is held: usually the text goes on there. */
  fork(length: number): HeldSequence;
  release(): void;
}
