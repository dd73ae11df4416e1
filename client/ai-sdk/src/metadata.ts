import type { FlinchMetadata } from 'flinch-client';
import { METADATA } from 'flinch-client/protocol';
import * as z from 'zod/mini';

const providerMetadata = z.object({ flinch: METADATA });

/**
 * Metadata that the middleware has put into `providerMetadata`; `null` if it was not used.
 *
 * @example
 * const { text, providerMetadata } = await generateText({ model, prompt });
 * if (flinchMetadata(providerMetadata)?.verdict.flagged !== false) await review(text);
 */
export const flinchMetadata = (metadata: unknown): FlinchMetadata | null =>
  providerMetadata.safeParse(metadata).data?.flinch ?? null;
