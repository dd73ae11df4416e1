import * as z from 'zod/mini';
import { GENERATION_EVENTS } from './schemas.js';

/** The field `flinch` that the server puts next to OpenAI's `choices`. Here as in schemas.ts, `zod/mini`. */

const { shape: tokenShape } = GENERATION_EVENTS['token.delta'];
const { shape: scoreShape } = GENERATION_EVENTS['score.delta'];
const { guard } = GENERATION_EVENTS['generation.created'].shape;
const { verdict, usage_by_model } = GENERATION_EVENTS['generation.done'].shape;

const token = z.object({
  index: tokenShape.index,
  id: tokenShape.id,
  text: tokenShape.text,
  part: tokenShape.part,
  part_text: tokenShape.part_text,
  call: tokenShape.call,
  logprob: tokenShape.logprob,
  scores: z.optional(scoreShape.scores),
  risk: scoreShape.risk,
  skipped: scoreShape.skipped,
  reason: scoreShape.reason,
  missing: scoreShape.missing,
  pending: scoreShape.pending,
  rival: scoreShape.rival,
});

const PLACE = { response_id: true, offset: true } as const;
const stepDone = z.omit(GENERATION_EVENTS['step.done'], PLACE);
const stepFlagged = z.omit(GENERATION_EVENTS['step.flagged'], PLACE);
const rollbackDone = z.omit(GENERATION_EVENTS['rollback.done'], PLACE);
const scorerMismatch = z.omit(GENERATION_EVENTS['scorer.mismatch'], PLACE);
const escalated = z.omit(GENERATION_EVENTS['generation.escalated'], { ...PLACE, guard: true });
const voted = z.omit(GENERATION_EVENTS['generation.voted'], PLACE);

/** Findings of the guard. */
export const COMPLETION_EVENT = z.discriminatedUnion('type', [
  stepDone,
  stepFlagged,
  z.omit(GENERATION_EVENTS['rollback.started'], PLACE),
  rollbackDone,
  scorerMismatch,
]);

/** Field of a chunk: news since the previous chunk. */
export const CHUNK_FLINCH = z.object({
  guard: z.optional(guard),
  tokens: z.array(token),
  events: z.optional(z.array(COMPLETION_EVENT)),
  escalations: z.optional(z.array(escalated)),
  votes: z.optional(z.array(voted)),
  verdict,
  usage_by_model,
});

/** Field of a whole answer: everything that is known of it. */
export const WHOLE_FLINCH = z.object({
  guard,
  tokens: z.array(token),
  steps: z.optional(z.array(stepDone)),
  flagged: z.optional(z.array(stepFlagged)),
  rollbacks: z.optional(z.array(rollbackDone)),
  mismatches: z.optional(z.array(scorerMismatch)),
  escalations: z.optional(z.array(escalated)),
  votes: z.optional(z.array(voted)),
  verdict,
  usage_by_model,
});
