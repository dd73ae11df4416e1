import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  ACTIONS,
  CHOICES,
  DEFAULT_GUARD,
  DELIVERIES,
  MAX_CANDIDATES,
  MAX_ROLLBACKS,
  TARGETS,
} from '../src/stream/guard.js';
import { DEFAULT_METHODS, METHODS, type Method } from '../src/uncertainty/method.js';
import { STATISTICS } from '../src/uncertainty/risk.js';
import {
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_EPSILON,
  DEFAULT_RANDOM,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_ALPHA,
  MIN_ALPHA,
  parseScale,
  TOKUR_LAWS,
} from '../src/uncertainty/settings.js';
import { ApiError, fromZod } from './errors.js';

const LIMITS = {
  messages: 1000,
  parts: 1000,
  metadata: 16,
  stops: 4,
  stopCharacters: 256,
  topLogprobs: 20,
  block: 64,
  window: 65536,
  samples: 64,
  reflectionCharacters: 500,
};

/**
 * Cuts a list off behind the first item that is wrong, or the first too many: zod looks at all of them and writes down
 * what is wrong with each, and a request has room for half a million.
 */
const upTo = (most: number, item: z.ZodType) => (value: unknown) => {
  if (!Array.isArray(value)) return value;
  const items: unknown[] = value.slice(0, most + 1);
  const wrong = items.findIndex((each) => !item.safeParse(each).success);
  return wrong < 0 ? items : items.slice(0, wrong + 1);
};

/** OpenAI's limit. A map with more fields is not looked at. */
const metadata = z.preprocess(
  (value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= LIMITS.metadata)
      return value;
    context.addIssue(`must have at most ${LIMITS.metadata} fields`);
    return z.NEVER;
  },
  z.record(z.string(), z.string()),
);

const part = z.strictObject({ type: z.literal('text'), text: z.string() });
const text = z.preprocess(
  upTo(LIMITS.parts, part),
  z.union(
    [
      z.string(),
      z
        .array(part)
        .max(LIMITS.parts)
        .transform((parts) => parts.map((each) => each.text).join('')),
    ],
    { error: `must be a string or a list of at most ${LIMITS.parts} text parts` },
  ),
);

/** A field of OpenAI's that flinch knows and does not do: its neutral values pass, others are refused. */
const unsupported = (...neutral: unknown[]) =>
  z
    .unknown()
    .refine((value) => value === null || neutral.some((other) => isDeepStrictEqual(value, other)), {
      error: 'is not supported',
      params: { unsupported: true },
    })
    .meta({ enum: [null, ...neutral] })
    .optional();

const message = z.strictObject({
  role: z
    .enum(['system', 'developer', 'user', 'assistant'])
    .transform((role) => (role === 'developer' ? ('system' as const) : role)),
  content: text,
  name: z.string().nullish(),
  // What a response's own message has beside these: it may be sent back as it came.
  refusal: unsupported(),
  audio: unsupported(),
  annotations: unsupported([]),
  tool_calls: unsupported([]),
  function_call: unsupported(),
});

/** A number, or a text such as `0.005rms`; what the latter comes to is checked when the model is known. */
const size = z.union(
  [
    z.number().min(MIN_ALPHA).max(MAX_ALPHA),
    z.string().transform((text, context) => {
      const scale = parseScale(text);
      if (scale !== null && typeof scale !== 'number' && scale.rms > 0) return scale;
      context.addIssue('is no multiple of the RMS');
      return z.NEVER;
    }),
  ],
  {
    error: `must be a number from ${MIN_ALPHA} to ${MAX_ALPHA}, or a multiple of the embeddings' RMS as "0.005rms"`,
  },
);

const method = z.enum(METHODS);

/** What the guard does with a generation; every field has a default. How they fit together: `checkScoring`. */
export const guardSchema = z
  .strictObject({
    enabled: z.boolean().default(true),
    methods: z
      .preprocess(
        upTo(METHODS.length, method),
        z
          .array(method)
          .min(1)
          .max(METHODS.length)
          .transform((methods) => [...new Set(methods)]),
      )
      .optional(),
    block: z.int().min(1).max(LIMITS.block).default(DEFAULT_BLOCK),
    window: z
      .union([z.int().min(1).max(LIMITS.window), z.literal('all')], {
        error: `must be an integer from 1 to ${LIMITS.window}, or "all"`,
      })
      .optional(),
    schedule: z.enum(['windowed', 'lazy']).default('windowed'),
    epsilon: z.number().min(0).lt(1).default(DEFAULT_EPSILON),
    alpha: size.default(DEFAULT_ALPHA),
    derivative: z.boolean().default(false),
    sigma: size.default(DEFAULT_RANDOM.sigma),
    samples: z.int().min(2).max(LIMITS.samples).default(DEFAULT_RANDOM.samples),
    tokur_sigma: z.number().min(MIN_ALPHA).max(MAX_ALPHA).default(DEFAULT_TOKUR.sigma),
    // Few choices: for each of them the engine keeps a graph.
    tokur_samples: z.literal([2, 4, 8]).default(2),
    tokur_law: z.enum(TOKUR_LAWS).default(DEFAULT_TOKUR.law),
    method: method.optional(),
    per: z.enum(TARGETS).default(DEFAULT_GUARD.per),
    statistic: z.enum(STATISTICS).default(DEFAULT_GUARD.statistic),
    rate: z.number().gt(0).lt(1).default(DEFAULT_GUARD.rate),
    delivery: z.enum(DELIVERIES).default(DEFAULT_GUARD.delivery),
    action: z.enum(ACTIONS).default(DEFAULT_GUARD.action),
    rollback_to: z.enum(TARGETS).default(DEFAULT_GUARD.rollbackTo),
    candidates: z.int().min(1).max(MAX_CANDIDATES).default(DEFAULT_GUARD.candidates),
    choose: z.enum(CHOICES).default(DEFAULT_GUARD.choose),
    candidate_temperature: z.number().min(0).max(2).optional(),
    reflection: z.string().min(1).max(LIMITS.reflectionCharacters).default(DEFAULT_GUARD.reflection),
    max_rollbacks: z.int().min(0).max(MAX_ROLLBACKS).default(DEFAULT_GUARD.maxRollbacks),
  })
  .transform(({ window, ...guard }) => ({
    ...guard,
    window: window ?? Math.max(DEFAULT_WINDOW, guard.block),
  }));

/** As it was asked for. */
export type GuardFields = z.output<typeof guardSchema>;

/** With the methods that the model computes. */
export interface Guard extends GuardFields {
  readonly methods: Method[];
  readonly method: Method;
}

/**
 * Fills in the methods. Who asks for some alone need not say which of them the guard goes by; who names none gets, of
 * the usual ones, those that there are.
 * @param available what can be computed for the model
 * @throws ApiError 400 that names the field
 */
export function completeGuard(fields: GuardFields, available: readonly Method[]): Guard {
  const { methods = DEFAULT_METHODS.filter((method) => available.includes(method)) } = fields;
  const missing = methods.find((method) => !available.includes(method));
  if (missing !== undefined) {
    throw invalid('guard.methods', `${missing} needs a scorer, which this model does not have`);
  }
  const [first = DEFAULT_GUARD.method] = methods;
  const { method = methods.includes(DEFAULT_GUARD.method) ? DEFAULT_GUARD.method : first } = fields;
  if (!methods.includes(method)) throw invalid('guard.method', 'is not among guard.methods');
  return { ...fields, methods: [...methods], method };
}

const invalid = (param: string, problem: string): ApiError =>
  new ApiError(400, 'invalid_value', `${param}: ${problem}`, param);

const generationFields = {
  model: z.string(),
  messages: z.preprocess(upTo(LIMITS.messages, message), z.array(message).min(1).max(LIMITS.messages)),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  seed: z.int().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z
    .preprocess(
      upTo(LIMITS.stops, z.string()),
      z
        .union([z.string(), z.array(z.string()).max(LIMITS.stops)], {
          error: `must be a string or a list of at most ${LIMITS.stops}`,
        })
        .transform((stop) => (typeof stop === 'string' ? [stop] : stop))
        .refine((stops) => stops.every((stop) => stop.length > 0 && stop.length <= LIMITS.stopCharacters), {
          error: `must be strings of 1 to ${LIMITS.stopCharacters} characters`,
        }),
    )
    .nullish(),
  top_logprobs: z.int().min(0).max(LIMITS.topLogprobs).nullish(),
  guard: guardSchema.nullish().transform((guard) => guard ?? guardSchema.parse({})),

  // Of no consequence here.
  user: z.string().nullish(),
  metadata: metadata.nullish(),
  store: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  parallel_tool_calls: z.boolean().nullish(),

  n: unsupported(1),
  frequency_penalty: unsupported(0),
  presence_penalty: unsupported(0),
  logit_bias: unsupported({}),
  tools: unsupported([]),
  tool_choice: unsupported('none', 'auto'),
  functions: unsupported([]),
  function_call: unsupported('none', 'auto'),
  response_format: unsupported({ type: 'text' }),
  modalities: unsupported(['text']),
  audio: unsupported(),
  prediction: unsupported(),
  reasoning_effort: unsupported('none'),
  web_search_options: unsupported(),
};

/** Whether it outlives its connection. */
const resumable = z.boolean().nullish();

/** The body of `POST /v1/chat/completions`. */
export const chatSchema = z
  .strictObject({
    ...generationFields,
    stream: z.boolean().nullish(),
    stream_options: z
      .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
      .nullish(),
    logprobs: z.boolean().nullish(),
    resumable,
  })
  .refine(({ logprobs, top_logprobs }) => logprobs || !top_logprobs, {
    path: ['top_logprobs'],
    error: 'needs logprobs: true',
  })
  .refine(({ stream, stream_options }) => stream || !stream_options, {
    path: ['stream_options'],
    error: 'needs stream: true',
  })
  .refine(({ stream, resumable }) => stream || !resumable, {
    path: ['resumable'],
    error: 'needs stream: true',
  });

export type ChatRequest = z.output<typeof chatSchema>;

const requestId = z.string().max(128).optional();

/** The message `generation.create` of the stream protocol. */
export const createSchema = z.strictObject({
  ...generationFields,
  type: z.literal('generation.create'),
  request_id: requestId,
  resumable,
});

export const resumeSchema = z.strictObject({
  type: z.literal('generation.resume'),
  response_id: z.string(),
  epoch: z.string(),
  offset: z.int().min(0),
  request_id: requestId,
});

export const cancelSchema = z.strictObject({ type: z.literal('generation.cancel'), response_id: z.string() });

/** What a generation needs of either. */
export type GenerationFields = Pick<ChatRequest, keyof typeof generationFields>;

/** @throws ApiError 400 that names the field */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw fromZod(result.error);
  return result.data;
}
