import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import {
  checkStreamed,
  completionFields,
  type GenerationFields,
  ownCompletionSampling,
  parse,
  resumable,
  streamOptions,
  transport,
} from './generation-request.js';
import { unsupported } from './unsupported.js';

/** Prompt without a chat template around it: a text, or the ids of its tokens. */
export type Prompt = string | readonly number[];

const MAX_IDS = 2 ** 18;
const id = z.int().min(0);
const cut = upTo(MAX_IDS, id);
const error = `must be one prompt: a string, or a list of 1 to ${MAX_IDS} token ids`;

/** A list of one prompt is that prompt. */
function alone(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 1) return value;
  const [only]: unknown[] = value;
  return typeof only === 'string' || Array.isArray(only) ? only : value;
}

const prompt = z
  .preprocess(
    (value) => cut(alone(value)),
    z.union([z.string(), z.array(id).min(1, { error }).max(MAX_IDS, { error })], { error }),
  )
  .describe('One text, or the ids of its tokens. Also as the only item of a list.');

const logprobs = z
  .int()
  .min(0)
  .nullish()
  .describe(
    'Number of most probable alternatives reported for each token (at most 5 of a model that flinch runs).',
  );

/** The body of `POST /v1/completions`. The upstream judges all other fields. */
export const completionSchema = z
  .looseObject({
    ...completionFields,
    prompt,
    max_tokens: z.int().nullish().describe('Maximum length of the response, in tokens (default: 16).'),
    logprobs,
    // Fields of a chat.
    messages: unsupported(),
    top_logprobs: unsupported(),
    stream: z.boolean().nullish(),
    stream_options: streamOptions,
    resumable,
  })
  .superRefine(checkStreamed);

export type CompletionRequest = z.output<typeof completionSchema>;

/** Default of `max_tokens` for a model that flinch runs, the same as OpenAI's and vLLM's. */
export const DEFAULT_LENGTH = 16;

const ownSchema = z.strictObject({
  ...completionFields,
  prompt: transport,
  max_tokens: z.int().min(1).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
  ...ownCompletionSampling,
  stream: transport,
  stream_options: transport,
  resumable: transport,
  // Set by us.
  messages: transport,
  top_logprobs: transport,
  // Accepted and ignored.
  user: z.string().nullish(),

  n: unsupported(1),
  best_of: unsupported(1),
  echo: unsupported(false),
  suffix: unsupported(),
  frequency_penalty: unsupported(0),
  presence_penalty: unsupported(0),
  logit_bias: unsupported({}),
});

/**
 * Checks that a completion asks for nothing that flinch does not do itself.
 * @throws ApiError 400 that names the field
 */
export function checkOwnCompletion(request: GenerationFields): void {
  parse(ownSchema, request);
}

/** The same request with the fields of a chat, as models take it; its prompt goes beside it. */
export function generationOf(request: CompletionRequest): GenerationFields {
  return { ...request, messages: [], top_logprobs: request.logprobs };
}
