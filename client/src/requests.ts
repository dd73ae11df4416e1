import type { GuardRequest } from './guard-request.js';

/** Requests of a client, as in gateway/PROTOCOL.md; the server refuses fields that it does not know, by name. */

export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface GenerationRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly seed?: number;
  readonly max_completion_tokens?: number;
  /** Lower a `max_completion_tokens` or `top_logprobs` that is too large for the model instead of refusing it. */
  readonly clamp?: boolean;
  readonly stop?: string | readonly string[];
  readonly top_logprobs?: number;
  readonly guard?: GuardRequest;
  /** Whether the generation outlives a lost connection for a while, to be resumed. Default true. */
  readonly resumable?: boolean;
}

/** Where a generation goes on that another client has begun: after its last event that is there already. */
export interface ResumePlace {
  readonly responseId: string;
  /** Of its `generation.created`. */
  readonly epoch: string;
  /** Offset of the next event. */
  readonly offset: number;
}

export type ClientMessage =
  | ({ readonly type: 'generation.create'; readonly request_id: string } & GenerationRequest)
  | { readonly type: 'generation.cancel'; readonly response_id: string }
  | {
      readonly type: 'generation.resume';
      readonly response_id: string;
      readonly epoch: string;
      /** Offset of the next event that is wanted. */
      readonly offset: number;
    };
