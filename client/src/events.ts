import type * as z from 'zod/mini';
import type * as schemas from './schemas.js';

/** The messages of the server in `flinch.v1`, as gateway/PROTOCOL.md specifies them. */

export type { Method } from './method-names.js';

export const SUBPROTOCOL = 'flinch.v1';

type EventsOf<Schemas> = z.output<Schemas[keyof Schemas]>;

/** Events of a generation, which have a position in it. */
export type GenerationEvent = EventsOf<typeof schemas.GENERATION_EVENTS>;

export type ServerEvent = GenerationEvent | EventsOf<typeof schemas.CONNECTION_EVENTS>;

/** The event of a type: `EventOf<'token.delta'>`. */
export type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;

/** One number per method; methods without a value are absent. */
export type Scores = z.output<typeof schemas.scores>;
/** What of an answer is not its text. */
export type Part = z.output<typeof schemas.part>;
/** The other token whose probability grew most under the perturbation. */
export interface Rival extends z.output<typeof schemas.rival> {}
export interface Usage extends z.output<typeof schemas.usage> {}
/** The whole answer among ordinary answers. */
export interface Verdict extends z.output<typeof schemas.verdict> {}
/** The settings in force; the server sends more of them than listed here. */
export interface GuardInForce extends z.output<typeof schemas.guardInForce> {}
/** OpenAI's error object. */
export interface ErrorBody extends z.output<typeof schemas.errorBody> {}

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
