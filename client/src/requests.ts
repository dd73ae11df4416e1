import type { Method } from './events.js';

/** What a client asks for, as gateway/PROTOCOL.md says; what the server does not know it refuses by name. */

export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Absent fields have the server's defaults. */
export interface GuardRequest {
  readonly enabled?: boolean;
  readonly methods?: readonly Method[];
  readonly schedule?: 'windowed' | 'lazy';
  /** Tokens scored by one pass, at most. */
  readonly block?: number;
  readonly window?: number | 'all';
  readonly epsilon?: number;
  readonly alpha?: number | string;
  readonly derivative?: boolean;
  readonly sigma?: number | string;
  readonly samples?: number;
  readonly tokur_sigma?: number;
  readonly tokur_samples?: 2 | 4 | 8;
  readonly tokur_law?: 'weights' | 'positions' | 'shared-positions';
  /** By which steps are judged. */
  readonly method?: Method;
  readonly per?: 'step' | 'token';
  readonly statistic?: 'max' | 'mean';
  /** Target share of false alarms, above 0 and below 1. */
  readonly rate?: number;
  readonly delivery?: 'immediate' | 'held';
  readonly action?: 'annotate' | 'stop' | 'rollback' | 'reflect';
  readonly rollback_to?: 'step' | 'token';
  readonly candidates?: number;
  readonly choose?: 'uncertainty' | 'majority';
  readonly candidate_temperature?: number;
  readonly reflection?: string;
  readonly max_rollbacks?: number;
}

export interface GenerationRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly seed?: number;
  readonly max_completion_tokens?: number;
  readonly stop?: string | readonly string[];
  readonly top_logprobs?: number;
  readonly guard?: GuardRequest;
  /** Whether the generation outlives a lost connection for a while, to be resumed. Default true. */
  readonly resumable?: boolean;
}

export type ClientMessage =
  | ({ readonly type: 'generation.create'; readonly request_id: string } & GenerationRequest)
  | { readonly type: 'generation.cancel'; readonly response_id: string }
  | {
      readonly type: 'generation.resume';
      readonly response_id: string;
      readonly epoch: string;
      /** Of the next event that is wanted. */
      readonly offset: number;
    };
