import type { FlinchMetadata } from 'flinch-client';
import { GENERATION_EVENTS, WHOLE_FLINCH } from 'flinch-client/protocol';
import * as z from 'zod/mini';

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
    escalations: z.nonoptional(shape.escalations),
    votes: z.nonoptional(shape.votes),
    verdict: z.union([z.nonoptional(verdict), noVerdict]),
  }),
});

/**
 * Metadata that the middleware has put into `providerMetadata`; `null` if it was not used.
 *
 * @example
 * const { text, providerMetadata } = await generateText({ model, prompt });
 * if (flinchMetadata(providerMetadata)?.verdict.flagged !== false) await review(text);
 */
export const flinchMetadata = (providerMetadata: unknown): FlinchMetadata | null =>
  metadata.safeParse(providerMetadata).data?.flinch ?? null;
