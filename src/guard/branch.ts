import type { Observable, OperatorFunction } from 'rxjs';
import type { GenerationEvent, GuardEvent, TokenEvent, Usage, WrittenEvent } from '../stream/events.js';
import type { FlowGate } from '../stream/flow-gate.js';
import type { ScoreOptions } from '../stream/score.js';
import { fused } from '../stream/stage.js';
import type { Continuation, Place } from './continuation.js';
import { TextSoFar } from './text-so-far.js';

/** One continuation of a response, which can be continued in other ways from any of its tokens. */
export interface Branch {
  /** `null` where only the upstream counts them. */
  readonly promptTokens: number | null;
  /** See {@link Usage}; 0 for a continuation. */
  readonly cachedTokens?: number | undefined;
  /** Tokens that were written for it, read or not. */
  readonly written: number;
  /**
   * Its own tokens, their scores and spikes, and a verdict on each step. Subscribed to once; unsubscribing leaves
   * the branch open.
   */
  events(gate: FlowGate): Observable<GuardEvent>;
  /** Whether tokens are left to write after `keep` tokens and the text `insert`, which may be empty. */
  fits(keep: number, insert: string): boolean;
  /** @throws errors of writer and scorer; RangeError for a continuation that leaves no token to write */
  fork(continuation: Continuation): Promise<Branch>;
  close(): void;
}

/** Writer of a branch. */
export interface BranchWriter extends Pick<Branch, 'promptTokens' | 'cachedTokens' | 'written' | 'fits'> {
  /** Inserted tokens, then drawn ones, then the end. Subscribed to once; unsubscribing leaves the writer open. */
  tokens(gate: FlowGate): Observable<WrittenEvent>;
  /** @param kept the tokens that stay, `continuation.keep` of them */
  fork(kept: readonly TokenEvent[], continuation: Continuation): Promise<BranchWriter>;
  close(): void;
}

export interface BranchScoring {
  readonly gate: FlowGate;
  /** Index of the branch's first own token. */
  readonly from: number;
  /** See {@link ScoreOptions.begins}. */
  readonly begins: NonNullable<ScoreOptions['begins']>;
}

/** Scorer of a branch. */
export interface BranchScorer {
  /** Adds scores to tokens. Applied once; unsubscribing leaves the scorer open. */
  score(scoring: BranchScoring): OperatorFunction<WrittenEvent, GenerationEvent>;
  /** @param keep tokens of the response that stay */
  fork(keep: number): Promise<BranchScorer>;
  close(): void;
}

/** How the events of a branch are rated and judged. */
export interface BranchJudge {
  /** How many other continuations there may be at a time; where there are none, nothing is kept for them. */
  readonly forks?: number;
  /** Rates each score. */
  readonly rate: OperatorFunction<GenerationEvent, GenerationEvent>;
  /** Finds steps and judges them, from the first token of one on. */
  readonly judge: (place: Place) => OperatorFunction<GenerationEvent, GuardEvent>;
}

/**
 * Makes a branch from a writer and a scorer. It closes both.
 *
 * @param text text before the branch; by default none
 *
 * @example
 * branchOf(writer, scorer, { rate: rateRisk(risks), judge: (place) => segmentSteps(place) });
 */
export function branchOf(
  writer: BranchWriter,
  scorer: BranchScorer,
  judge: BranchJudge,
  text: TextSoFar = TextSoFar.begin(judge.forks !== 0),
): Branch {
  return {
    promptTokens: writer.promptTokens,
    get cachedTokens() {
      return writer.cachedTokens;
    },
    get written() {
      return writer.written;
    },
    events: (gate) => {
      const live = (begins: BranchScoring['begins']) =>
        fused(scorer.score({ gate, from: text.keep, begins }), judge.rate);
      return writer.tokens(gate).pipe(text.follow(live, judge.judge));
    },
    fits: (keep, insert) => writer.fits(keep, insert),
    fork: async (continuation) => {
      const kept = text.upTo(continuation);
      const forked = await scorer.fork(continuation.keep);
      const written = await closeOnFailure(forked, () => writer.fork(kept.tokens, continuation));
      return branchOf(written, forked, judge, kept);
    },
    close: () => {
      writer.close();
      scorer.close();
    },
  };
}

/** Resolves to the result of `open`; if that fails, `opened` is closed. */
export async function closeOnFailure<T>(
  opened: { readonly close: () => void } | null,
  open: () => Promise<T>,
): Promise<T> {
  try {
    return await open();
  } catch (error) {
    opened?.close();
    throw error;
  }
}
