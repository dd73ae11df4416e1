import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { upTo } from '../../src/files/limited-list.js';
import {
  checkStreamed,
  commonFields,
  type GenerationFields,
  metadata,
  ownSampling,
  ownTopLogprobs,
  parse,
  resumable,
  topLogprobs,
  transport,
} from './generation-request.js';
import type { Message } from './message-fields.js';
import { unsupported } from './unsupported.js';

/** OpenAI's name for log-probabilities in the field `include`. */
export const LOGPROBS = 'message.output_text.logprobs';

const MAX_ITEMS = 1000;

const part = z.looseObject({ type: z.string() });
const content = z.preprocess(upTo(MAX_ITEMS, part), z.union([z.string(), z.array(part).max(MAX_ITEMS)]));
const item = z.looseObject({
  type: z.string().nullish(),
  role: z.string().optional(),
  content: content.nullish(),
});

const input = z
  .preprocess(
    upTo(MAX_ITEMS, item),
    z.union([z.string(), z.array(item).max(MAX_ITEMS)], {
      error: `must be a string or a list of at most ${MAX_ITEMS} items`,
    }),
  )
  .describe('A text of the user, or a list of messages.');

/** The body of `POST /v1/responses`. The upstream judges all other fields. */
export const responseSchema = z
  .looseObject({
    ...commonFields,
    input: input.optional(),
    instructions: z.string().nullish().describe('A system message before the input.'),
    max_output_tokens: z.int().nullish().describe('Maximum length of the response, in tokens.'),
    include: z
      .array(z.string())
      .nullish()
      .describe(`What else to include; \`${LOGPROBS}\` for log-probabilities.`),
    top_logprobs: topLogprobs,
    metadata: metadata.nullish().describe('Returned with the response.'),
    stream: z.boolean().nullish(),
    resumable,
  })
  .superRefine(checkStreamed);

export type ResponseRequest = z.output<typeof responseSchema>;

const text = z.strictObject({
  type: z.literal(['input_text', 'output_text'], { error: 'must be input_text or output_text' }),
  text: z.string(),
  annotations: unsupported([]),
  // A response that is sent back has these.
  logprobs: transport,
});

/** A message, or one that a response had. */
const ownMessage = z.strictObject({
  type: z.literal('message', { error: 'must be message' }).optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: z.union([z.string(), z.array(text)], { error: 'must be a string or a list of text parts' }),
  id: z.string().nullish(),
  status: z.string().nullish(),
  phase: z.string().nullish(),
});

const ownSchema = z.strictObject({
  ...responseSchema.shape,
  input: z.union([z.string(), z.array(ownMessage).min(1)]),
  ...ownSampling,
  top_logprobs: ownTopLogprobs,
  max_output_tokens: z.int().min(1).nullish(),
  include: z.array(z.literal(LOGPROBS, { error: `must be ${LOGPROBS}` })).nullish(),
  stream_options: transport,
  // Accepted and ignored.
  store: z.boolean().nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  parallel_tool_calls: z.boolean().nullish(),

  previous_response_id: unsupported(),
  conversation: unsupported(),
  background: unsupported(false),
  prompt: unsupported(),
  text: unsupported({}, { format: { type: 'text' } }),
  reasoning: unsupported({}),
  tools: unsupported([]),
  tool_choice: unsupported('none', 'auto'),
  max_tool_calls: unsupported(),
  truncation: unsupported('disabled'),
  context_management: unsupported([]),
  moderation: unsupported(),
});

/**
 * Checks that a response asks for text and for nothing that flinch does not do itself.
 * @throws ApiError 400 that names the field
 */
export function checkOwnResponse(request: ResponseRequest): void {
  // Items are parsed one by one: errors of a union do not say which item is wrong.
  if (Array.isArray(request.input)) parse(z.object({ input: z.array(ownMessage) }), { input: request.input });
  parse(ownSchema, request);
}

/** The same request with the fields of a chat, as models take it. */
export function chatOf(request: ResponseRequest): GenerationFields {
  const { model, temperature, top_p, guard, max_output_tokens, top_logprobs } = request;
  return {
    model,
    temperature,
    top_p,
    guard,
    top_logprobs,
    max_completion_tokens: max_output_tokens,
    messages: messagesOf(request),
  };
}

/** Its instructions and the text of its items. */
function messagesOf({ instructions, input = [] }: ResponseRequest): Message[] {
  const items: readonly z.output<typeof item>[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return [
    ...(instructions ? [{ role: 'system', content: instructions }] : []),
    ...items.map(({ role = 'user', content }) => ({ role, content: joined(content) })),
  ];
}

const joined = (content: z.output<typeof item>['content']): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).map(({ text }) => (typeof text === 'string' ? text : '')).join('');

/** Whether those messages are all that a server reads. */
export function isPlain(request: ResponseRequest): boolean {
  const { input = [] } = request;
  const items = typeof input === 'string' ? [] : input;
  const others = OTHER_INPUT.some((name) => !isNothing(request[name]));
  return !others && items.length + Number(typeof input === 'string') > 0 && items.every(isText);
}

/** Fields with which a server reads something else, or more. */
const OTHER_INPUT = ['previous_response_id', 'conversation', 'prompt', 'tools', 'text', 'reasoning'] as const;

const isNothing = (value: unknown): boolean =>
  [undefined, null, [], {}, { format: { type: 'text' } }].some((nothing) =>
    isDeepStrictEqual(value, nothing),
  );

const isText = ({ type, content }: z.output<typeof item>): boolean =>
  (type ?? 'message') === 'message' &&
  (typeof content === 'string' ||
    (content ?? []).every(({ type }) => type === 'input_text' || type === 'output_text'));
