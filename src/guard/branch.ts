import { identity, type Observable, type OperatorFunction } from 'rxjs';
import { PartAligner } from '../steps/step-aligner.js';
import type { GenerationEvent, GuardEvent, TokenEvent, Usage, WrittenEvent } from '../stream/events.js';
import type { FlowGate } from '../stream/flow-gate.js';
import type { ScoreOptions, TokenScorer } from '../stream/score.js';
import { fused, staged } from '../stream/stage.js';

/** Position of the first token of a branch, which begins a step. */
export interface BranchPoint {
  /** The step that the token belongs to, and the index of that step's first token. */
  readonly step: number;
  readonly from: number;
}

/** Another way to go on from a step's begin: the `from` tokens before it stay. */
export interface Continuation extends BranchPoint {
  /** Temperature of the tokens that are drawn. Default: that of the request. */
  readonly temperature?: number;
  readonly seed: number;
}

/** One continuation of a response, which can be continued in other ways from any of its tokens. */
export interface Branch {
  /** `null` where only the upstream counts them. */
  readonly promptTokens: number | null;
  /** See {@link Usage}; 0 for a continuation. */
  readonly cachedTokens?: number | undefined;
  /** Tokens that were written for it, read or not. */
  readonly written: number;
  /**
   * Its own tokens, their scores, and a verdict on each step. Subscribed to once; unsubscribing leaves the branch
   * open.
   */
  events(gate: FlowGate): Observable<GuardEvent>;
  /** Scores the text that stays, after its events: see {@link BranchScorer.later}. */
  readonly later?: TokenScorer | undefined;
  /** Whether it can be continued after `keep` tokens: some are left to write. */
  fits(keep: number): boolean;
  /** @throws errors of writer and scorer; RangeError for a continuation that leaves no token to write */
  fork(continuation: Continuation): Promise<Branch>;
  close(): void;
}

/** Writer of a branch. */
export interface BranchWriter extends Pick<Branch, 'promptTokens' | 'cachedTokens' | 'written' | 'fits'> {
  /** Tokens, then the end. Subscribed to once; unsubscribing leaves the writer open. */
  tokens(gate: FlowGate): Observable<WrittenEvent>;
  /** @param kept the tokens that stay, `continuation.from` of them */
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
  /**
   * Scores of passes that follow the text, which nothing waits for. Only of the first branch, with which it is not closed: it
   * scores what stays of all branches.
   */
  readonly later?: TokenScorer;
  /** @param keep tokens of the response that stay */
  fork(keep: number): Promise<BranchScorer>;
  close(): void;
}

/** Scorer of a branch that is not scored. */
export const UNSCORED: BranchScorer = { score: () => identity, fork: async () => UNSCORED, close: () => {} };

/** How the events of a branch are rated and judged. */
export interface BranchJudge {
  /** How many other continuations there may be at a time; where there are none, nothing is kept for them. */
  readonly forks?: number;
  /** Rates each score. */
  readonly rate: OperatorFunction<GenerationEvent, GenerationEvent>;
  /** Finds steps and judges them, from the first token of one on. */
  readonly judge: (point: BranchPoint) => OperatorFunction<GenerationEvent, GuardEvent>;
}

/**
 * Makes a branch from a writer and a scorer. It closes both.
 *
 * @param kept the tokens before the branch, of the steps before `step`
 *
 * @example
 * branchOf(writer, scorer, { rate: rateRisk(risks), judge: (place) => segmentSteps(place) });
 */
export function branchOf(
  writer: BranchWriter,
  scorer: BranchScorer,
  judge: BranchJudge,
  kept: readonly TokenEvent[] = [],
  step = 0,
): Branch {
  const from = kept.length;
  const tokens = [...kept];
  /** Notes the tokens for other continuations. A pass may span the cut: scores before it stay as they are. */
  const note = staged<GenerationEvent, GenerationEvent>((emit) => ({
    next: (event) => {
      if (event.type === 'token.delta') tokens[event.index] = event;
      if (event.type !== 'score.delta' || event.index >= from) emit(event);
    },
  }));
  return {
    promptTokens: writer.promptTokens,
    get cachedTokens() {
      return writer.cachedTokens;
    },
    get written() {
      return writer.written;
    },
    events: (gate) => {
      const aligner = new PartAligner();
      for (const token of kept) aligner.begins(token.text, token);
      const begins: BranchScoring['begins'] = (text, token) => aligner.begins(text, token);
      const rated = fused(scorer.score({ gate, from, begins }), judge.rate);
      const noted = judge.forks === 0 ? rated : fused(rated, note);
      return writer.tokens(gate).pipe(fused(noted, judge.judge({ step, from })));
    },
    later: scorer.later,
    fits: (keep) => writer.fits(keep),
    fork: async (continuation) => {
      const before = tokens.slice(0, continuation.from);
      const forked = await scorer.fork(continuation.from);
      const written = await closeOnFailure(forked, () => writer.fork(before, continuation));
      return branchOf(written, forked, judge, before, continuation.step);
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
