import { GENERATION_EVENTS } from 'flinch-client/protocol';
import * as z from 'zod/mini';

/** Messages to webhooks (gateway/webhooks). */

const { type: _, offset: __, text: ___, ...flagged } = GENERATION_EVENTS['step.flagged'].shape;
const { usage, verdict } = GENERATION_EVENTS['generation.done'].shape;

const answer = { response_id: z.string(), model: z.string() };
const time = z.string();

export const flagMessage = z.object({
  type: z.literal('flag'),
  timestamp: time,
  data: z.strictObject({ ...flagged, ...answer }),
});

export const verdictMessage = z.object({
  type: z.literal('verdict'),
  timestamp: time,
  data: z.strictObject({
    ...answer,
    outcome: z.enum(['done', 'failed', 'cancelled']),
    finish_reason: z.nullable(z.string()),
    error: z.nullable(z.string()),
    usage: z.nullable(usage),
    verdict: z.nullable(z.nonoptional(verdict)),
  }),
});
