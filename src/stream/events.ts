import type { Rival } from '../engine/protocol.js';
import type { TokenLogprob } from '../engine/sampler.js';
import type { Method, Scores } from '../uncertainty/method.js';

export interface TokenEvent {
  readonly type: 'token.delta';
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  readonly id: number;
  readonly text: string;
  /** Natural log, temperature 1. */
  readonly logprob: number;
  readonly topLogprobs: readonly TokenLogprob[];
}

/** The scores of one token, all methods at once: they come from one pass. */
export interface ScoreEvent {
  readonly type: 'score.delta';
  readonly index: number;
  /** `stream`: under the streaming schedule, the only kind that flags may use. */
  readonly pass: 'stream' | 'final';
  readonly scores: Scores;
  /** Methods that the schedule left out for this token: not a score of zero. */
  readonly skipped: readonly Method[];
  readonly rival: Rival | null;
}

export interface DoneEvent {
  readonly type: 'generation.done';
  readonly finishReason: 'stop' | 'length';
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number };
}

/** What a generation emits. A failure is an error of the Observable. */
export type GenerationEvent = TokenEvent | ScoreEvent | DoneEvent;
