import type * as z from 'zod/mini';
import type { Verdict } from './events.js';
import type { CHUNK_FLINCH, COMPLETION_EVENT, METADATA, WHOLE_FLINCH } from './flinch-field.js';

/** Field `flinch` of a chunk of a stream, next to `choices`: news since the previous chunk. */
export interface ChunkFlinch extends z.output<typeof CHUNK_FLINCH> {}

/** Field `flinch` of a whole completion: all that is known of the answer. */
export interface WholeFlinch extends z.output<typeof WHOLE_FLINCH> {}

/** A token comes first with its text, and again with its scores: merge by `index`. */
export type FlinchToken = WholeFlinch['tokens'][number];

/** Finding of the guard, in a chunk of a stream. */
export type FlinchEvent = z.output<typeof COMPLETION_EVENT>;

/**
 * All that flinch knows of an answer, in the fields of a response that is not streamed. `guard` is `null` if the server did
 * not say; `flagged` has every step that was flagged, as it was then.
 */
export interface FlinchMetadata extends z.output<typeof METADATA> {}

/** `flagged` is `null` if it is unknown, and `reason` says why: that is not a clean verdict. */
export type FlinchVerdict = FlinchMetadata['verdict'];

/**
 * Reason why the server has not judged an answer:
 * - `guard_off`: the guard was not enabled
 * - `no_verdict`: the answer ended without a verdict, because it failed or was cut
 * - `no_flinch`: the server that answered is not flinch
 * - `protocol_error`: the server's data on the answer cannot be read
 */
export type NoVerdict = Exclude<FlinchVerdict, Verdict>;
