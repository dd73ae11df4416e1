import type { ConnectionEvent, GenerationEvent } from './event-types.js';

/**
 * The messages of the server in `flinch.v1`, as gateway/PROTOCOL.md specifies them. These are plain types, so that an
 * application compiles against them without zod.
 */

export type { Method } from './client-methods.js';
export type * from './event-types.js';

export const SUBPROTOCOL = 'flinch.v1';

export type ServerEvent = GenerationEvent | ConnectionEvent;

/** The event of a type: `EventOf<'token.delta'>`. */
export type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;

/**
 * `stop`, `length`, `cancelled`, `tool_calls`, or `content_filter`: the guard ended the generation. An upstream may send
 * further reasons.
 */
export type FinishReason = EventOf<'generation.done'>['finish_reason'];

/** An event of a type that a newer server knows; with `response_id` it takes its place in the order. */
export interface UnknownEvent {
  readonly type: 'unknown';
  readonly response_id?: string | undefined;
  readonly offset?: number | undefined;
}
