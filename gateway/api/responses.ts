import { z } from 'zod';
import { CONNECTION_EVENTS, GENERATION_EVENTS } from '../../src/client/protocol.js';

/** What the HTTP side answers with: of these the OpenAPI file is made, and tests hold answers against them. */

const { shape: tokenShape } = GENERATION_EVENTS['token.delta'];
const { shape: scoreShape } = GENERATION_EVENTS['score.delta'];
const { shape: createdShape } = GENERATION_EVENTS['generation.created'];

const token = z.object({
  index: tokenShape.index,
  id: tokenShape.id,
  text: tokenShape.text,
  logprob: tokenShape.logprob,
  inserted: tokenShape.inserted,
  scores: scoreShape.scores.optional(),
  risk: scoreShape.risk,
  skipped: scoreShape.skipped,
  rival: scoreShape.rival,
});

const PLACE = { response_id: true, offset: true } as const;
const stepDone = GENERATION_EVENTS['step.done'].omit(PLACE);
const stepFlagged = GENERATION_EVENTS['step.flagged'].omit(PLACE);
const rollbackDone = GENERATION_EVENTS['rollback.done'].omit(PLACE);
const scorerMismatch = GENERATION_EVENTS['scorer.mismatch'].omit(PLACE);

const event = z.discriminatedUnion('type', [
  GENERATION_EVENTS['spike.detected'].omit(PLACE),
  stepDone,
  stepFlagged,
  GENERATION_EVENTS['rollback.started'].omit(PLACE),
  rollbackDone,
  scorerMismatch,
]);

const openAiToken = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int().min(0).max(255)).nullable(),
});
const logprobs = z
  .object({
    content: z.array(openAiToken.extend({ top_logprobs: z.array(openAiToken) })),
    refusal: z.null(),
  })
  .nullable();

const finishReason = z.enum(['stop', 'length', 'content_filter']);
const { usage } = GENERATION_EVENTS['generation.done'].shape;
const header = { id: z.string(), created: z.int(), model: z.string() };

/** `POST /v1/chat/completions` without `stream`. */
export const completion = z.object({
  ...header,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({ role: z.literal('assistant'), content: z.string(), refusal: z.null() }),
      logprobs,
      finish_reason: finishReason,
    }),
  ),
  usage,
  flinch: z.object({
    guard: createdShape.guard,
    tokens: z.array(token),
    steps: z.array(stepDone).optional(),
    flagged: z.array(stepFlagged).optional(),
    rollbacks: z.array(rollbackDone).optional(),
    mismatches: z.array(scorerMismatch).optional(),
  }),
});

/** The `data:` of an event of the streamed answer, save the last, which is `[DONE]`. */
export const chunk = z.object({
  ...header,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.object({
      index: z.literal(0),
      delta: z.object({ role: z.literal('assistant').optional(), content: z.string().optional() }),
      logprobs,
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
  flinch: z
    .object({
      guard: createdShape.guard.optional(),
      tokens: z.array(token),
      events: z.array(event).optional(),
    })
    .optional(),
});

/** The body of a request that failed; in a stream, the `data:` of its last event. */
export const failure = z.object({ error: CONNECTION_EVENTS.error.shape.error });

const model = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.literal('flinch'),
});
export const models = z.object({ object: z.literal('list'), data: z.array(model) });
export { model };

/** `POST /v1/tickets`. */
export const ticket = z.object({ ticket: z.string(), expires_at: z.int() });

/** `GET /healthz`; what it says of a model depends on its kind. */
export const health = z.object({
  status: z.enum(['ok', 'degraded']),
  models: z.array(z.looseObject({ id: z.string(), ready: z.boolean() })),
});
