// `zod/mini` as a namespace: a bundler keeps only what is used, a twentieth of zod.
import * as z from 'zod/mini';

/**
 * The server's messages of `flinch.v1` (gateway/PROTOCOL.md) as schemas. The server's tests validate its events with
 * them, clients read events with `readEvent`, and the OpenAPI and AsyncAPI files are generated from them. No Node, no
 * DOM: the same file runs in the gateway and in browsers.
 */

const METHOD_NAMES = [
  'adversarial',
  'random',
  'tokur_eu',
  'tokur_tu',
  'tokur_au',
  'nll',
  'entropy',
  'margin',
] as const;

const index = z.int().check(z.minimum(0));
const method = z.enum(METHOD_NAMES);
const scores = z.partialRecord(method, z.number());

const topLogprob = z.object({ id: z.nullable(z.int()), text: z.string(), logprob: z.number() });

const rival = z.object({ id: z.int(), text: z.string(), before: z.number(), after: z.number() });

const usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.optional(z.object({ cached_tokens: z.int() })),
  generated_tokens: z.optional(z.int()),
});

const verdict = z.object({
  flagged: z.nullable(z.boolean()),
  risk: z.nullable(z.number().check(z.minimum(0), z.maximum(1))),
  rate: z.number(),
  flagged_steps: z.int(),
  steps: z.int(),
  unscored_tokens: z.int(),
  calibrated: z.boolean(),
  reason: z.nullable(z.string()),
});

/** The settings in force; more of them than a client needs to know. */
const guardInForce = z.looseObject({
  enabled: z.boolean(),
  methods: z.array(method),
  method,
  rate: z.number(),
  delivery: z.enum(['immediate', 'held']),
  action: z.enum(['annotate', 'stop', 'rollback', 'reflect']),
  calibrated: z.optional(z.boolean()),
  warnings: z.optional(z.array(z.string())),
  policy: z.optional(z.nullable(z.string())),
});

const errorBody = z.object({
  message: z.string(),
  type: z.string(),
  param: z.nullable(z.string()),
  code: z.string(),
});

const rating = {
  method,
  score: z.nullable(z.number()),
  risk: z.nullable(z.number().check(z.minimum(0), z.maximum(1))),
  calibrated: z.boolean(),
};

/** What of an answer is not its text. */
const part = z.optional(z.enum(['reasoning', 'tool_calls']));

const span = { step: index, from: index, to: index, text: z.string(), part };

/** The place of an event among those of its generation. */
const place = { response_id: z.string(), offset: index };

/** Events of a generation, which have a place among its others. */
export const GENERATION_EVENTS = {
  'generation.created': z.object({
    type: z.literal('generation.created'),
    ...place,
    request_id: z.optional(z.string()),
    created: z.int(),
    model: z.string(),
    prompt_tokens: z.nullable(z.int()),
    guard: guardInForce,
    epoch: z.string(),
    resumable: z.boolean(),
  }),
  'token.delta': z.object({
    type: z.literal('token.delta'),
    ...place,
    index,
    id: z.nullable(z.int()),
    text: z.string(),
    part,
    part_text: z.optional(z.string()),
    call: z.optional(index),
    logprob: z.nullable(z.number()),
    top_logprobs: z.optional(z.array(topLogprob)),
    inserted: z.optional(z.literal(true)),
  }),
  'score.delta': z.object({
    type: z.literal('score.delta'),
    ...place,
    index,
    part,
    pass: z.enum(['stream', 'final']),
    scores,
    risk: z.optional(scores),
    skipped: z.optional(z.array(method)),
    reason: z.optional(z.literal('lag')),
    missing: z.optional(z.array(method)),
    rival: z.optional(rival),
  }),
  'spike.detected': z.object({ type: z.literal('spike.detected'), ...place, index, ...rating }),
  'step.done': z.object({
    type: z.literal('step.done'),
    ...place,
    ...span,
    ...rating,
    flagged: z.boolean(),
    unscored: z.optional(z.int()),
    held: z.optional(z.object({ tokens: z.int(), ms: z.number() })),
  }),
  'step.flagged': z.object({
    type: z.literal('step.flagged'),
    ...place,
    ...span,
    ...rating,
    unscored: z.optional(z.int()),
    action: z.enum(['annotate', 'stop', 'rollback', 'reflect']),
  }),
  'token.retracted': z.object({ type: z.literal('token.retracted'), ...place, from: index, tokens: z.int() }),
  'rollback.started': z.object({
    type: z.literal('rollback.started'),
    ...place,
    rollback: index,
    step: index,
    from: index,
    candidates: z.int(),
  }),
  'rollback.done': z.object({
    type: z.literal('rollback.done'),
    ...place,
    rollback: index,
    step: index,
    outcome: z.enum(['replaced', 'kept']),
    chosen: index,
    candidates: z.array(z.object({ text: z.string(), tokens: z.int(), score: z.nullable(z.number()) })),
  }),
  'scorer.mismatch': z.object({
    type: z.literal('scorer.mismatch'),
    ...place,
    tokens: z.int(),
    difference: z.number(),
    tolerance: z.number(),
  }),
  'upstream.delta': z.object({
    type: z.literal('upstream.delta'),
    ...place,
    at: index,
    chunk: z.record(z.string(), z.unknown()),
    unscored: z.array(z.enum(['audio', 'choices', 'content', 'reasoning', 'refusal', 'tool_calls'])),
  }),
  'generation.done': z.object({
    type: z.literal('generation.done'),
    ...place,
    finish_reason: z.string(),
    usage,
    verdict: z.optional(verdict),
  }),
} as const;

/** Messages about a request or the connection. */
export const CONNECTION_EVENTS = {
  'generation.resumed': z.object({
    type: z.literal('generation.resumed'),
    response_id: z.string(),
    request_id: z.optional(z.string()),
    recovered: z.boolean(),
  }),
  heartbeat: z.object({ type: z.literal('heartbeat') }),
  error: z.object({
    type: z.literal('error'),
    response_id: z.optional(z.string()),
    /** With `response_id`: the last event of that generation. */
    offset: z.optional(index),
    request_id: z.optional(z.string()),
    error: errorBody,
  }),
} as const;
