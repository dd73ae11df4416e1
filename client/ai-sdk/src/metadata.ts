import type { EventOf, Verdict } from 'flinch-client';
import { GENERATION_EVENTS, WHOLE_FLINCH } from 'flinch-client/protocol';
import * as z from 'zod/mini';

type Token = EventOf<'token.delta'>;
type Score = EventOf<'score.delta'>;

/** A token with its scores, which are absent where it has none. */
export type FlinchToken = Omit<Token, 'type' | 'response_id' | 'offset' | 'top_logprobs'> &
  Pick<Score, 'risk' | 'skipped' | 'reason' | 'missing' | 'rival'> & { scores?: Score['scores'] | undefined };

type Found<Type extends 'step.done' | 'step.flagged' | 'rollback.done' | 'scorer.mismatch'> = Omit<
  EventOf<Type>,
  'response_id' | 'offset'
>;

/**
 * Of an answer that the server has not judged:
 * - `guard_off`: the guard was not enabled
 * - `no_verdict`: the answer ended without a verdict, because it failed or was cut
 * - `no_flinch`: the server that answered is not flinch
 * - `protocol_error`: what the server said of the answer cannot be read
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
  /** As they stand in the answer. */
  steps: Found<'step.done'>[];
  /** Every step that was flagged, as it was then. */
  flagged: Found<'step.flagged'>[];
  rollbacks: Found<'rollback.done'>[];
  mismatches: Found<'scorer.mismatch'>[];
  verdict: FlinchVerdict;
}

const { verdict } = GENERATION_EVENTS['generation.done'].shape;
const noVerdict = z.object({
  flagged: z.null(),
  risk: z.null(),
  reason: z.enum(['guard_off', 'no_verdict', 'no_flinch', 'protocol_error']),
});
const { shape } = WHOLE_FLINCH;

const metadata = z.object({
  flinch: z.object({
    guard: z.nullable(shape.guard),
    tokens: shape.tokens,
    steps: z.nonoptional(shape.steps),
    flagged: z.nonoptional(shape.flagged),
    rollbacks: z.nonoptional(shape.rollbacks),
    mismatches: z.nonoptional(shape.mismatches),
    verdict: z.union([z.nonoptional(verdict), noVerdict]),
  }),
});

/**
 * What the middleware has put into `providerMetadata`; `null` if it was not used.
 *
 * @example
 * const { text, providerMetadata } = await generateText({ model, prompt });
 * if (flinchMetadata(providerMetadata)?.verdict.flagged !== false) await review(text);
 */
export const flinchMetadata = (providerMetadata: unknown): FlinchMetadata | null =>
  metadata.safeParse(providerMetadata).data?.flinch ?? null;
