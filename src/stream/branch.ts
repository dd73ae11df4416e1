import type { Observable } from 'rxjs';
import type { DoneEvent, ScoreEvent, SpikeEvent, StepEvent, TokenEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';

/** What is known of a branch of text: its tokens, their scores, and a verdict on each step, in that order. */
export type BranchEvent = TokenEvent | ScoreEvent | SpikeEvent | StepEvent | DoneEvent;

/** Another way to go on from a part of a branch. */
export interface Continuation {
  /** Tokens of the response that stay. */
  readonly keep: number;
  /** The step that the next token is of, and the index of its first token, at most `keep`. */
  readonly step: number;
  readonly from: number;
  /** Text that is put there before the model writes on. */
  readonly insert?: string;
  /** Of the tokens that are drawn; by default as the response was asked for. */
  readonly temperature?: number;
  readonly seed: number;
}

/** One continuation of a text, which can be continued in other ways from any of its tokens. */
export interface Branch {
  readonly promptTokens: number;
  /** Of its own tokens alone. Subscribed to once; unsubscribing leaves the branch open. */
  events(gate: FlowGate): Observable<BranchEvent>;
  /** @throws EngineError; RangeError for a continuation that leaves no token to write */
  fork(continuation: Continuation): Promise<Branch>;
  /** Tokens that were written for it, read or not. */
  readonly written: number;
  close(): void;
}
