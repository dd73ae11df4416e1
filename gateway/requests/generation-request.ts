import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import { fromZod } from '../errors/api-error.js';
import { carryExact } from './exact-numbers.js';
import { askedGuardSchema } from './guard-limits.js';
import { messages, textMessages } from './message-fields.js';
import { unsupported } from './unsupported.js';

export const LIMITS = { metadata: 16, topLogprobs: 20 };

/** OpenAI's limit. A map with more fields is refused before its values are looked at. */
export const metadata = z.preprocess(
  (value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= LIMITS.metadata)
      return value;
    context.addIssue(`must have at most ${LIMITS.metadata} fields`);
    return z.NEVER;
  },
  z.record(z.string(), z.string()),
);

const stopStrings = (most: number, characters: number) =>
  z.preprocess(
    upTo(most, z.string()),
    z
      .union([z.string(), z.array(z.string()).max(most)], {
        error: `must be a string or a list of at most ${most}`,
      })
      .refine((stops) => listOf(stops).every((each) => each.length > 0 && each.length <= characters), {
        error: `must be strings of 1 to ${characters} characters`,
      }),
  );

/** The stop strings of a request. */
export const stopsOf = ({ stop }: { readonly stop?: string | readonly string[] | null | undefined }) =>
  listOf(stop ?? []);

const listOf = (stop: string | readonly string[]): readonly string[] =>
  typeof stop === 'string' ? [stop] : stop;

/** The length that a request asks for, in tokens; `null` without one. */
export function askedLength(request: Pick<GenerationFields, 'max_completion_tokens' | 'max_tokens'>) {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const tokens = request[field];
    if (tokens !== null && tokens !== undefined) return tokens < 0 ? null : { field, tokens };
  }
  return null;
}

/** Fields that every API has. */
export const commonFields = {
  model: z.string().describe('Name of a model in the configuration.'),
  temperature: z
    .number()
    .nullish()
    .describe('Sampling temperature; 0 is greedy (default: that of the model).'),
  top_p: z.number().nullish(),
  guard: askedGuardSchema
    .nullish()
    .transform((guard) => guard ?? {})
    .describe('How tokens are scored, and what happens to doubtful steps.'),
};

/** Fields of completions, of a chat or of a prompt. */
export const completionFields = {
  ...commonFields,
  top_k: z.int().nullish().describe('Number of most probable tokens to sample from; 0 means all.'),
  // A server may take 64 bits.
  seed: z
    .number()
    .refine(Number.isInteger, 'must be an integer')
    .meta({ type: 'integer' })
    .nullish()
    .describe(
      'The same seed gives the same response. Rounding may change it on another machine, and rarely beside other requests. At most 2^53 − 1 for a model that flinch runs.',
    ),
  clamp: z
    .boolean()
    .nullish()
    .describe(
      'Lower a `max_completion_tokens` or `top_logprobs` that is too large for the model instead of refusing it; `guard.warnings` says so (default: false).',
    ),
  stop: stopStrings(256, 1024)
    .nullish()
    .describe(
      'Texts that end the response (at most 4 of up to 256 characters for a model that flinch runs).',
    ),
};

/** Narrower values of sampling fields, for a model that flinch runs; a server may take others. */
export const ownSampling = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
};

/** The same for all sampling fields of completions. */
export const ownCompletionSampling = {
  ...ownSampling,
  top_k: z.int().min(0).nullish(),
  seed: z.int().nullish(),
  stop: stopStrings(4, 256).nullish(),
};

export const topLogprobs = z
  .int()
  .min(0)
  .nullish()
  .describe(
    'Number of most probable alternatives reported for each token (at most 20 of a model that flinch runs).',
  );

/** The same for a model that flinch runs. */
export const ownTopLogprobs = z.int().min(0).max(LIMITS.topLogprobs).nullish();

/** Fields that the gateway itself reads; an upstream is sent all fields as they came. */
const generationFields = {
  ...completionFields,
  messages,
  max_tokens: z.int().nullish().describe('Older name of `max_completion_tokens`.'),
  max_completion_tokens: z
    .int()
    .nullish()
    .describe('Maximum length of the response, in tokens. Below 0: no maximum, for servers that take that.'),
  top_logprobs: topLogprobs,
};

export const resumable = z.boolean().nullish().describe('Whether the generation outlives its connection.');

export const streamOptions = z.looseObject({ include_usage: z.boolean().nullish() }).nullish();

/** Refuses fields of streams in requests that are not streamed. */
export function checkStreamed(
  request: Readonly<Partial<Record<'stream' | 'stream_options' | 'resumable', unknown>>>,
  context: z.RefinementCtx,
): void {
  if (request.stream) return;
  for (const name of ['stream_options', 'resumable'] as const) {
    if (request[name]) context.addIssue({ code: 'custom', path: [name], message: 'needs stream: true' });
  }
}

/** The body of `POST /v1/chat/completions`. The upstream judges all other fields. */
export const chatSchema = z
  .looseObject({
    ...generationFields,
    stream: z.boolean().nullish(),
    stream_options: streamOptions,
    logprobs: z.boolean().nullish(),
    resumable,
  })
  .refine(({ logprobs, top_logprobs }) => logprobs || !top_logprobs, {
    path: ['top_logprobs'],
    error: 'needs logprobs: true',
  })
  .superRefine(checkStreamed);

export type ChatRequest = z.output<typeof chatSchema>;

const requestId = z
  .string()
  .max(128)
  .optional()
  .describe('Chosen by the client; echoed in the answer, and in errors about this message.');

/** Fields of HTTP, for which a WebSocket has its own ways. */
export const HTTP_FIELDS = ['stream', 'stream_options', 'logprobs'] as const;

/** The message `generation.create` of the stream protocol. */
export const createSchema = z
  .looseObject({
    ...generationFields,
    type: z.literal('generation.create'),
    request_id: requestId,
    resumable,
  })
  .superRefine((message, context) => {
    const keys = HTTP_FIELDS.filter((name) => Object.hasOwn(message, name));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: message });
  });

/** The message `generation.score`. All other fields, such as `tools`, are for the chat template. */
export const scoreSchema = z.looseObject({
  type: z.literal('generation.score'),
  request_id: requestId,
  model: commonFields.model,
  messages,
  guard: commonFields.guard,
});

export const appendSchema = z.strictObject({
  type: z.literal('generation.append'),
  response_id: z.string(),
  text: z.string().describe('The next part of the text.'),
  end: z.boolean().optional().describe('Whether it is the last (default: false).'),
});

export const resumeSchema = z.strictObject({
  type: z.literal('generation.resume'),
  response_id: z.string(),
  epoch: z.string(),
  offset: z.int().min(0),
  request_id: requestId,
});

export const cancelSchema = z.strictObject({ type: z.literal('generation.cancel'), response_id: z.string() });

/** The fields that both have, and those that only an upstream reads. */
export interface GenerationFields extends Pick<ChatRequest, keyof typeof generationFields> {
  readonly [field: string]: unknown;
}

/** Read by those that carry the request. */
export const transport = z.unknown().optional();

const ownLength = z.int().min(1).nullish();

/** A request for a model that takes text alone, such as those that flinch runs itself. */
export const textSchema = z.strictObject({
  ...generationFields,
  ...ownCompletionSampling,
  messages: textMessages,
  max_tokens: ownLength,
  max_completion_tokens: ownLength,
  top_logprobs: ownTopLogprobs,

  // Read by those that carry the request.
  type: transport,
  request_id: transport,
  resumable: transport,
  stream: transport,
  stream_options: transport,
  logprobs: transport,

  // Accepted and ignored.
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
});

export type TextRequest = z.output<typeof textSchema>;

/**
 * The same request, if it asks for text and for nothing that flinch does not do itself.
 * @throws ApiError 400 that names the field
 */
export const textRequest = (request: GenerationFields): TextRequest => parse(textSchema, request);

/** @throws ApiError 400 that names the field */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw fromZod(result.error, schema);
  return carryExact(result.data, value);
}
