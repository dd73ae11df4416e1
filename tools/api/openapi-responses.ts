import { CHUNK_FLINCH, CONNECTION_EVENTS, GENERATION_EVENTS, WHOLE_FLINCH } from 'flinch-client/protocol';
import * as z from 'zod/mini';
import { METHODS } from '../../src/uncertainty/method-names.js';

/** Responses of the HTTP API: the OpenAPI file is made from these schemas, and tests check answers against them. */

const openAiToken = z.object({
  token: z.string(),
  // OpenAI's cannot be null, but an upstream may leave out values.
  logprob: z.nullable(z.number()),
  bytes: z.nullable(z.array(z.int().check(z.minimum(0), z.maximum(255)))),
});
const logprobContent = z.array(z.extend(openAiToken, { top_logprobs: z.array(openAiToken) }));

/** `stop`, `length`, `content_filter`, `tool_calls`, or what else an upstream says. */
const finishReason = z.string();
const usage = z.looseObject(GENERATION_EVENTS['generation.done'].shape.usage.shape);
const header = { id: z.string(), created: z.int(), model: z.string() };

/** Fields of a message; an upstream may send others. */
const messageFields = { role: z.literal('assistant'), refusal: z.nullable(z.string()) };

/** `POST /v1/chat/completions` without `stream`. */
export const completion = z.looseObject({
  ...header,
  object: z.literal('chat.completion'),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({
        ...messageFields,
        content: z.nullable(z.union([z.string(), z.array(z.looseObject({}))])),
      }),
      logprobs: z.nullable(
        z.looseObject({ content: z.nullish(logprobContent), refusal: z.nullish(logprobContent) }),
      ),
      finish_reason: z.nullable(finishReason),
    }),
  ),
  usage: z.nullish(usage),
  flinch: WHOLE_FLINCH,
});

/** The `data:` of an event of the streamed answer, save the last, which is `[DONE]`. */
export const chunk = z.looseObject({
  ...header,
  object: z.literal('chat.completion.chunk'),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      delta: z.looseObject({
        role: z.optional(z.literal('assistant')),
        content: z.nullish(z.union([z.string(), z.array(z.looseObject({}))])),
      }),
      logprobs: z.nullish(z.looseObject({ content: z.nullish(logprobContent) })),
      finish_reason: z.nullish(finishReason),
    }),
  ),
  usage: z.nullish(usage),
  flinch: z.optional(CHUNK_FLINCH),
});

/** Lists side by side, one entry for each token. */
const textLogprobs = z.looseObject({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.nullable(z.number())),
  top_logprobs: z.nullish(z.array(z.nullable(z.record(z.string(), z.nullable(z.number()))))),
  text_offset: z.optional(z.array(z.int())),
});

const textChoice = z.looseObject({
  index: z.int(),
  text: z.string(),
  logprobs: z.nullish(z.union([textLogprobs, z.looseObject({ content: logprobContent })])),
  finish_reason: z.nullish(finishReason),
});

/** `POST /v1/completions` without `stream`. */
export const textCompletion = z.looseObject({
  ...header,
  object: z.literal('text_completion'),
  choices: z.array(textChoice),
  usage: z.nullish(usage),
  flinch: WHOLE_FLINCH,
});

/** The `data:` of an event of the same streamed, save the last, which is `[DONE]`. */
export const textChunk = z.looseObject({
  ...header,
  object: z.literal('text_completion'),
  choices: z.array(textChoice),
  usage: z.nullish(usage),
  flinch: z.optional(CHUNK_FLINCH),
});

/** `POST /v1/responses` without `stream`. */
export const response = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.string(),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: z.nullish(z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() })),
  flinch: WHOLE_FLINCH,
});

/** The `data:` of an event of the same streamed: OpenAI's, with `flinch` beside what deltas add. */
export const responseEvent = z.looseObject({
  type: z.string(),
  sequence_number: z.int(),
  response: z.optional(response),
  flinch: z.optional(CHUNK_FLINCH),
});

/** `POST /beta/litellm_basic_guardrail_api`: LiteLLM's answer, with the results for the texts. */
export const guardrail = z.object({
  action: z.enum(['BLOCKED', 'NONE']),
  blocked_reason: z.optional(z.string()),
  flinch: z.object({
    unscored: z.array(z.enum(['tool_calls', 'images'])),
    /** Why no text was scored. */
    reason: z.optional(z.string()),
    texts: z.array(
      z.extend(z.pick(WHOLE_FLINCH, { guard: true, flagged: true, verdict: true }), { model: z.string() }),
    ),
  }),
});

/** The body of a request that failed; in a stream, the `data:` of its last event. */
export const failure = z.object({ error: CONNECTION_EVENTS.error.shape.error });

const bounds = z.object({
  min_rate: z.optional(z.number()),
  max_rollbacks: z.optional(z.int()),
  max_candidates: z.optional(z.int()),
});

/** `POST /v1/models/{id}/calibration`: a calibration that is made while no request runs. */
export const calibration = z.object({
  running: z.boolean(),
  /** Answers so far. */
  collected: z.int(),
  /** Answers that it will be of. */
  planned: z.int(),
});

/** `GET /v1/models/{id}`. */
export const model = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.literal('flinch'),
  flinch: z.optional(
    z.object({
      embedded: z.boolean(),
      single_turn: z.boolean(),
      methods: z.nullable(z.array(z.enum(METHODS))),
      method: z.nullable(z.enum(METHODS)),
      top_logprobs: z.nullable(z.int()),
      /** Why no new generations can be taken on; `null` if they can. */
      problem: z.nullable(z.string()),
      /** One that can be made here, as there was none at the start, or an unfinished one; otherwise `null`. */
      calibration: z.nullable(calibration),
      /** Model that answers in place of a flagged answer, with `action: escalate`; `null` if there is none. */
      escalates_to: z.nullable(z.string()),
      /** The operator's policy of the guard for this model and key. */
      policy: z.nullable(
        z.object({
          name: z.string(),
          defaults: z.looseObject({}),
          /** Locked fields, with the names of the policies that lock them. */
          locked: z.record(z.string(), z.string()),
          bounds,
          unscored: z.enum(['refuse', 'pass']),
        }),
      ),
    }),
  ),
});

/** `GET /v1/models`. */
export const models = z.object({ object: z.literal('list'), data: z.array(model) });

/** `GET /livez`, `GET /readyz`. */
export const liveness = z.object({ status: z.literal('alive') });
export const readiness = z.object({ status: z.enum(['ready', 'draining', 'unavailable']) });

/** `POST /v1/tickets`. */
export const ticket = z.object({ ticket: z.string(), expires_at: z.int() });

/** `GET /healthz`; the fields of a model depend on its kind. */
export const health = z.object({
  status: z.enum(['ok', 'degraded']),
  models: z.array(
    z.looseObject({
      id: z.string(),
      ready: z.boolean(),
      policies: z.array(
        z.object({
          name: z.string(),
          defaults: z.looseObject({}),
          locked: z.array(z.string()),
          bounds,
        }),
      ),
    }),
  ),
  /** Workers of `flinch serve --workers`; `streams` of the models are those of all. */
  workers: z.optional(
    z.array(z.object({ id: z.int(), pid: z.nullable(z.int()), restarts: z.int(), ready: z.boolean() })),
  ),
});

/** Messages to webhooks (gateway/webhooks). */

const { type: _, offset: __, text: ___, ...flagged } = GENERATION_EVENTS['step.flagged'].shape;
const done = GENERATION_EVENTS['generation.done'].shape;

const ofAnswer = { response_id: z.string(), model: z.string() };
export const flagMessage = z.object({
  type: z.literal('flag'),
  timestamp: z.string(),
  data: z.strictObject({ ...flagged, ...ofAnswer }),
});

export const verdictMessage = z.object({
  type: z.literal('verdict'),
  timestamp: z.string(),
  data: z.strictObject({
    ...ofAnswer,
    outcome: z.enum(['done', 'failed', 'cancelled']),
    finish_reason: z.nullable(z.string()),
    error: z.nullable(z.string()),
    usage: z.nullable(done.usage),
    verdict: z.nullable(z.nonoptional(done.verdict)),
  }),
});
