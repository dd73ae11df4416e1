import type { Observable } from 'rxjs';
import type { GuardEvent } from './events.js';
import type { FlowGate } from './flow-gate.js';

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
  /** Its own tokens, their scores and spikes, and a verdict on each step. Subscribed to once; unsubscribing leaves the branch open. */
  events(gate: FlowGate): Observable<GuardEvent>;
  /** Whether it can be continued after `keep` tokens and a text, which may be empty: whether they leave any to write. */
  fits(keep: number, insert: string): boolean;
  /** @throws EngineError; RangeError for a continuation that leaves no token to write */
  fork(continuation: Continuation): Promise<Branch>;
  /** Tokens that were written for it, read or not. */
  readonly written: number;
  close(): void;
}
