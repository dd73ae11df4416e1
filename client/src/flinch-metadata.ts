import type { EventOf, GenerationEvent, GuardInForce, Usage, Verdict } from './protocol-events.js';

/** Metadata of an answer. Plain types, as in events.ts: an application compiles against them without zod. */

type Token = EventOf<'token.delta'>;
type Score = EventOf<'score.delta'>;

/** A token with its scores, which are absent where it has none. */
export type FlinchToken = Omit<Token, 'type' | 'response_id' | 'offset' | 'top_logprobs'> &
  Pick<Score, 'risk' | 'skipped' | 'reason' | 'missing' | 'pending' | 'rival'> & {
    scores?: Score['scores'] | undefined;
  };

type Found<Type extends GenerationEvent['type']> = Omit<EventOf<Type>, 'response_id' | 'offset'>;

/** Finding of the guard, in a chunk of a stream. */
export type FlinchEvent =
  | Found<'step.done'>
  | Found<'step.flagged'>
  | Found<'rollback.started'>
  | Found<'rollback.done'>
  | Found<'scorer.mismatch'>;

/** Whether another model was asked. */
export type FlinchEscalation = Omit<Found<'generation.escalated'>, 'guard'>;

/** Field `flinch` of a chunk of a stream, next to `choices`: news since the previous chunk. */
export interface ChunkFlinch {
  guard?: GuardInForce | undefined;
  /** A token comes first with its text, and again with its scores, each time with all that is known: merge by `index`. */
  tokens: FlinchToken[];
  events?: FlinchEvent[] | undefined;
  escalations?: FlinchEscalation[] | undefined;
  votes?: Found<'generation.voted'>[] | undefined;
  /** In the chunk with `finish_reason`. */
  verdict?: Verdict | undefined;
  usage_by_model?: Record<string, Usage> | undefined;
}

/** Field `flinch` of a whole completion: all that is known of the answer. */
export interface WholeFlinch {
  guard: GuardInForce;
  tokens: FlinchToken[];
  steps?: Found<'step.done'>[] | undefined;
  flagged?: Found<'step.flagged'>[] | undefined;
  rollbacks?: Found<'rollback.done'>[] | undefined;
  mismatches?: Found<'scorer.mismatch'>[] | undefined;
  escalations?: FlinchEscalation[] | undefined;
  votes?: Found<'generation.voted'>[] | undefined;
  verdict?: Verdict | undefined;
  usage_by_model?: Record<string, Usage> | undefined;
}

/**
 * Reason why the server has not judged an answer:
 * - `guard_off`: the guard was not enabled
 * - `no_verdict`: the answer ended without a verdict, because it failed or was cut
 * - `no_flinch`: the server that answered is not flinch
 * - `protocol_error`: the server's data on the answer cannot be read
 */
export interface NoVerdict {
  flagged: null;
  risk: null;
  reason: 'guard_off' | 'no_verdict' | 'no_flinch' | 'protocol_error';
}

/** `flagged` is `null` if it is unknown, and `reason` says why: that is not a clean verdict. */
export type FlinchVerdict = Verdict | NoVerdict;

/** All that flinch knows of an answer, in the fields of a response that is not streamed. */
export interface FlinchMetadata {
  /** The settings in force; `null` if the server did not say. */
  guard: EventOf<'generation.created'>['guard'] | null;
  tokens: FlinchToken[];
  /** Steps as they are in the answer. */
  steps: Found<'step.done'>[];
  /** Every step that was flagged, as it was then. */
  flagged: Found<'step.flagged'>[];
  rollbacks: Found<'rollback.done'>[];
  mismatches: Found<'scorer.mismatch'>[];
  /** Whether another model was asked in place of the one that wrote: one event, or none. */
  escalations: FlinchEscalation[];
  /** How further answers have voted: one event, or none. */
  votes: Found<'generation.voted'>[];
  verdict: FlinchVerdict;
}
