import type { GenerationRequest } from './client-request.js';

/** Requests of a client, as in gateway/PROTOCOL.md. */

/** Where a generation goes on that another client has begun: after its last event that is there already. */
export interface ResumePoint {
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
