import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { STATISTICS } from '../../src/risk/risk.js';
import {
  ACTIONS,
  CHOICES,
  DEFAULT_GUARD,
  DELIVERIES,
  MAX_CANDIDATES,
  MAX_ROLLBACKS,
  TARGETS,
} from '../../src/stream/guard.js';
import { DEFAULT_METHODS, METHODS, type Method } from '../../src/uncertainty/method.js';
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
} from '../../src/uncertainty/settings.js';
import { ApiError, fromZod } from '../errors/api-error.js';

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
    enabled: z
      .boolean()
      .default(true)
      .describe('Score the tokens and judge the steps; without it no other field plays a part.'),
    methods: z
      .preprocess(
        upTo(METHODS.length, method),
        z
          .array(method)
          .min(1)
          .max(METHODS.length)
          .transform((methods) => [...new Set(methods)]),
      )
      .optional()
      .describe(
        'What is computed for each token; by default `adversarial`, `nll`, `entropy` and `margin`, or what of them the model can.',
      ),
    block: z
      .int()
      .min(1)
      .max(LIMITS.block)
      .default(DEFAULT_BLOCK)
      .describe('Tokens scored by one pass, at most.'),
    window: z
      .union([z.int().min(1).max(LIMITS.window), z.literal('all')], {
        error: `must be an integer from 1 to ${LIMITS.window}, or "all"`,
      })
      .optional()
      .describe(
        `Positions that a pass perturbs, \`block\` at least; by default ${DEFAULT_WINDOW}, or \`block\` if that is more.`,
      ),
    schedule: z
      .enum(['windowed', 'lazy'])
      .default('windowed')
      .describe(
        'One pass for each block of new tokens; or one for each doubtful token, and none for the others.',
      ),
    epsilon: z
      .number()
      .min(0)
      .lt(1)
      .default(DEFAULT_EPSILON)
      .describe('`lazy`: a token is doubtful when 1 − P exceeds it.'),
    alpha: size
      .default(DEFAULT_ALPHA)
      .describe(
        `\`adversarial\`: size of the perturbation, by default ${DEFAULT_ALPHA}; as a string, such as \`"0.005rms"\`, a multiple of the embeddings' root mean square. \`guard\` in the answer gives the number that it comes to.`,
      ),
    derivative: z
      .boolean()
      .default(false)
      .describe(
        '`adversarial`, `random`: the derivative along the perturbation instead of a forward pass with it.',
      ),
    sigma: size
      .default(DEFAULT_RANDOM.sigma)
      .describe(
        `\`random\`: standard deviation of the noise, by default ${DEFAULT_RANDOM.sigma}; or a string, as \`alpha\`.`,
      ),
    samples: z
      .int()
      .min(2)
      .max(LIMITS.samples)
      .default(DEFAULT_RANDOM.samples)
      .describe('`random`: draws of the noise, each a forward pass of its own.'),
    tokur_sigma: z
      .number()
      .min(MIN_ALPHA)
      .max(MAX_ALPHA)
      .default(DEFAULT_TOKUR.sigma)
      .describe('`tokur_*`: standard deviation of the noise on the weights.'),
    // Few choices: for each of them the engine keeps a graph.
    tokur_samples: z
      .literal([2, 4, 8])
      .default(2)
      .describe('`tokur_*`: models that are sampled, the unperturbed one among them.'),
    tokur_law: z
      .enum(TOKUR_LAWS)
      .default(DEFAULT_TOKUR.law)
      .describe(
        '`tokur_*`: the noise is drawn once for each weight, anew at each position, or that and the same for queries and values.',
      ),
    method: method
      .optional()
      .describe(
        'The score that steps are judged by; by default `adversarial` if it is one of `methods`, else the first.',
      ),
    per: z
      .enum(TARGETS)
      .default(DEFAULT_GUARD.per)
      .describe('A step is flagged by its own risk, or by the largest of its tokens.'),
    statistic: z
      .enum(STATISTICS)
      .default(DEFAULT_GUARD.statistic)
      .describe("Of its tokens' scores what is the step's."),
    rate: z
      .number()
      .gt(0)
      .lt(1)
      .default(DEFAULT_GUARD.rate)
      .describe(
        'Target share of false alarms, of steps or of tokens as `per` says: what has a risk of at least 1 − `rate` is flagged. Spikes go by it too, per token.',
      ),
    delivery: z
      .enum(DELIVERIES)
      .default(DEFAULT_GUARD.delivery)
      .describe(
        'Tokens at once, or whole steps once they are settled; over Server-Sent Events and in a whole response `rollback` and `reflect` are always `held`.',
      ),
    action: z
      .enum(ACTIONS)
      .default(DEFAULT_GUARD.action)
      .describe(
        'What is done about a flagged step: nothing more, the generation ends, continuations are drawn in its place, or a request to check it is put after it.',
      ),
    rollback_to: z
      .enum(TARGETS)
      .default(DEFAULT_GUARD.rollbackTo)
      .describe('`rollback`: back to the start of the step, or to the token of it that scored highest.'),
    candidates: z
      .int()
      .min(1)
      .max(MAX_CANDIDATES)
      .default(DEFAULT_GUARD.candidates)
      .describe('`rollback`: continuations that are drawn beside the flagged one.'),
    choose: z
      .enum(CHOICES)
      .default(DEFAULT_GUARD.choose)
      .describe('`rollback`: the one with the lowest mean score, or what most of them say.'),
    candidate_temperature: z
      .number()
      .min(0)
      .max(2)
      .optional()
      .describe('`rollback`: at which they are drawn; by default that of the response.'),
    reflection: z
      .string()
      .min(1)
      .max(LIMITS.reflectionCharacters)
      .default(DEFAULT_GUARD.reflection)
      .describe('`reflect`: the request.'),
    max_rollbacks: z
      .int()
      .min(0)
      .max(MAX_ROLLBACKS)
      .default(DEFAULT_GUARD.maxRollbacks)
      .describe('`rollback`, `reflect`: most of them in a response; later steps are annotated.'),
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
  model: z.string().describe('By its name in the configuration.'),
  messages: z.preprocess(upTo(LIMITS.messages, message), z.array(message).min(1).max(LIMITS.messages)),
  temperature: z.number().min(0).max(2).nullish().describe("0 is greedy; by default the model's own."),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish().describe('How many of the most probable tokens to sample from; 0 is all.'),
  seed: z.int().nullish().describe('The same seed gives the same response.'),
  max_tokens: z.int().min(1).nullish().describe('The older name of `max_completion_tokens`.'),
  max_completion_tokens: z.int().min(1).nullish().describe('Longest response, in tokens.'),
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
  top_logprobs: z
    .int()
    .min(0)
    .max(LIMITS.topLogprobs)
    .nullish()
    .describe('Alternatives of each token that are told.'),
  guard: guardSchema
    .nullish()
    .transform((guard) => guard ?? guardSchema.parse({}))
    .describe('How tokens are scored, and what is done about doubtful steps.'),

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

const resumable = z.boolean().nullish().describe('Whether the generation outlives its connection.');

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

const requestId = z
  .string()
  .max(128)
  .optional()
  .describe('Chosen by the client; echoed in the answer, and in errors about this message.');

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
