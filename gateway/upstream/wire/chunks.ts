import type { FinishReason } from '../../../src/stream/events.js';
import { excessOf } from '../../requests/request-bounds.js';
import type { UpstreamEnd, UpstreamPiece, UpstreamToken } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import { besideText, hasContents, isHeartbeat, type WrittenPart } from './beside-text.js';
import { tokensOf, withText } from './logprobs.js';
import {
  asCount,
  asCounts,
  asList,
  asObject,
  asText,
  exactly,
  type Json,
  limited,
  listOf,
  parseObject,
  textOfParts,
} from './wire-json.js';

/** One message of a server, whatever its dialect. */
export interface Chunk {
  /** Whether the answer has come further: many servers send chunks without anything in them. */
  readonly says: boolean;
  readonly text: string;
  /** Parts of the chunk that are not text, such as reasoning; tokens and ids may belong to these. */
  readonly parts: readonly WrittenPart[];
  /** Data that is passed on as it came. */
  readonly beside: NonNullable<UpstreamPiece['beside']> | null;
  /** The same with all digits of its numbers; absent where it has them. */
  readonly exactly?: () => Chunk['beside'];
  /** Tokens, as far as the chunk describes any; their texts need not be those of `text`. */
  readonly tokens: readonly UpstreamToken[] | null;
  readonly ids: readonly number[] | null;
  readonly promptIds: readonly number[] | null;
  /** Tokens that the server has written so far, described or not; `null` where it does not say. */
  readonly written: number | null;
  readonly finishReason: FinishReason | null;
  readonly usage: UpstreamEnd['usage'];
}

/** A chunk that says nothing. */
export const NOTHING = {
  says: false,
  text: '',
  parts: [],
  beside: null,
  tokens: null,
  ids: null,
  promptIds: null,
  written: null,
  finishReason: null,
  usage: null,
} as const;

/**
 * Reads a chunk of `/chat/completions` or `/completions` (OpenAI's API reference, "Streaming"), with what servers add:
 *
 * - vLLM (`return_token_ids`): `choices[].token_ids` of each chunk; `prompt_token_ids` beside `choices` in the first
 *   of a chat, within the choice of a completion (vllm/entrypoints/openai/chat_completion/protocol.py,
 *   ChatCompletionStreamResponse; completion/protocol.py, CompletionResponseStreamChoice).
 * - llama.cpp: `id` in each entry of `logprobs.content` and of its `top_logprobs` (tools/server/server-task.cpp,
 *   completion_token_output::probs_vector_to_json), for completions too, which OpenAI shapes otherwise; with
 *   `timings_per_token`, `timings.predicted_n`.
 * - Ollama: `logprobs.content` without ids (openai/openai.go, ChoiceLogprobs).
 * - Moonshot: `usage` within the last choice. Groq: `x_groq.usage`.
 * - Mistral: `delta.content` as a list of parts (docs.mistral.ai, "Reasoning"); the reason `model_length`.
 *
 * All else is {@link besideText the text}.
 *
 * @throws UpstreamError for what is no chunk, and for an error object
 */
export function readChunks(message: string): readonly Chunk[] {
  const object = checked(message);
  return inOrder(object).map((each, i) => {
    const chunk = chunkOf(each);
    // Most chunks pass nothing on but text.
    if (!chunk.beside) return chunk;
    const exact = (): Json => inOrder(exactly(message, object))[i] ?? each;
    return { ...chunk, exactly: () => besideText(exact()).beside };
  });
}

/** @param most entries of its log-probabilities */
function chunkOf(chunk: Json, most?: number): Chunk {
  const choice = firstOf(chunk);
  const delta = asObject(choice?.delta);
  const { beside, parts } = besideText(chunk);
  const text = textOfParts(delta?.content) || asText(choice?.text) || '';
  const tokens = withText(tokensOf(asObject(choice?.logprobs), most), text, parts);
  const ids = limited(asCounts(choice?.token_ids), most);
  return {
    says: tokens !== null || (ids?.length ?? 0) > 0 || hasContents(chunk),
    text,
    parts,
    beside,
    tokens:
      tokens && ids?.length === tokens.length ? tokens.map((token, i) => withId(token, ids[i])) : tokens,
    ids,
    promptIds: asCounts(chunk.prompt_token_ids ?? choice?.prompt_token_ids),
    written: asCount(asObject(chunk.timings)?.predicted_n),
    finishReason: finishReasonOf(choice?.finish_reason),
    usage: usageIn(chunk, choice),
  };
}

/** Chunks that are passed on as they came, as text. */
const TEXTS = new WeakMap<object, string>();

/** The text of a chunk that is passed on as it came. */
export const textOf = (chunk: object): string => TEXTS.get(chunk) ?? JSON.stringify(chunk);

/**
 * Reads of a chunk no more than whether it is the last.
 * @throws UpstreamError as {@link readChunks}
 */
export function readVerbatim(message: string): Chunk {
  const chunk = checked(message);
  return { ...verbatimOf(chunk, message), ...(isHeartbeat(chunk) && { beside: null }) };
}

/** Lists and objects of a whole answer: 75,000 tokens with five alternatives each. */
export const MAX_LISTS = 1 << 20;

/**
 * The same of an answer that is one object.
 * @throws UpstreamError as {@link readChunks}
 */
export const readWholeVerbatim = (message: string): Chunk =>
  ended(verbatimOf(checked(message, MAX_LISTS), message));

/**
 * Reads an answer that is one object as the only chunk of a stream.
 * @throws UpstreamError as {@link readChunks}
 */
export function readWhole(message: string): Chunk {
  const answer = exactly(message, checked(message, MAX_LISTS));
  if (!firstOf(answer))
    throw new UpstreamError('upstream_error', 'the upstream sent an answer without a choice');
  const choices = listOf(answer.choices).map((choice) => {
    const { message: delta, ...fields } = asObject(choice) ?? {};
    return delta === undefined ? fields : { ...fields, delta };
  });
  return ended(chunkOf({ ...answer, choices }, MAX_LISTS));
}

const ended = (chunk: Chunk): Chunk => ({
  ...chunk,
  says: true,
  finishReason: chunk.finishReason ?? 'stop',
});

function verbatimOf(chunk: Json, message: string): Chunk {
  TEXTS.set(chunk, message);
  const choice = firstOf(chunk);
  return {
    ...NOTHING,
    says: hasContents(chunk),
    beside: { chunk, unscored: [] },
    finishReason: finishReasonOf(choice?.finish_reason),
    usage: usageIn(chunk, choice),
  };
}

/** Moonshot has it within the last choice, Groq in a field of its own. */
function usageIn(chunk: Json, choice: Json | null): UpstreamEnd['usage'] {
  const usage = asObject(chunk.usage) ?? asObject(choice?.usage) ?? asObject(asObject(chunk.x_groq)?.usage);
  return usageOf(usage?.prompt_tokens, usage?.completion_tokens);
}

/** The one that is scored; others are passed on. */
function firstOf(chunk: Json): Json | null {
  for (const each of listOf(chunk.choices)) {
    const choice = asObject(each);
    if (asCount(choice?.index ?? 0) === 0) return choice;
  }
  return null;
}

function checked(message: string, maxLists?: number): Json {
  const object = parseObject(message, maxLists);
  if (!object || !(limited(asList(object.choices)) ?? []).every(isChoice)) {
    const excess = excessOf(message, maxLists);
    const problem = excess === null ? 'an invalid chunk' : `a chunk that ${excess}`;
    throw new UpstreamError('upstream_error', `the upstream sent ${problem}`);
  }
  // Its text stays here: it may hold addresses, or what others asked.
  if (object.error !== undefined && object.error !== null) {
    throw new UpstreamError('upstream_error', 'the upstream failed during its answer');
  }
  return object;
}

/** Whether a value is a choice. If its index is invalid, it is unknown which choice is meant. */
function isChoice(value: unknown): boolean {
  const choice = asObject(value);
  return choice !== null && asCount(choice.index ?? 0) !== null;
}

/** The reason why an answer ended. Unknown reasons are passed to the caller. */
function finishReasonOf(value: unknown): FinishReason | null {
  const reason = asText(value) ?? '';
  if (value === null || value === undefined || reason === 'model_length')
    return reason === '' ? null : 'length';
  if (typeof value !== 'string')
    throw new UpstreamError('upstream_error', 'the upstream sent a finish_reason that is no text');
  return reason === '' ? null : reason;
}

export function usageOf(prompt: unknown, completion: unknown): UpstreamEnd['usage'] {
  const promptTokens = asCount(prompt);
  const completionTokens = asCount(completion);
  return promptTokens === null && completionTokens === null ? null : { promptTokens, completionTokens };
}

const withId = (token: UpstreamToken, id: number | undefined): UpstreamToken =>
  id === undefined ? token : { ...token, id };

/**
 * A chunk for each run of parts of the first choice's content that are text, or are none: what follows a text stays
 * behind it. A chunk with tokens stays one, for these are of all its parts.
 */
function inOrder(chunk: Json): readonly Json[] {
  const [choice, ...others] = (asList(chunk.choices) ?? []).map(asObject);
  const delta = asObject(choice?.delta);
  const parts = asList(delta?.content);
  const hasTokens = choice?.logprobs || asList(choice?.token_ids)?.length;
  if (!choice || !parts || parts.length < 2 || (choice.index ?? 0) !== 0 || hasTokens) return [chunk];
  const runs: unknown[][] = [];
  for (const [i, part] of parts.entries()) {
    if (i === 0 || isText(part) !== isText(parts[i - 1])) runs.push([]);
    runs.at(-1)?.push(part);
  }
  const last = runs.pop() ?? [];
  const { content: _, ...rest } = delta ?? {};
  const whole = { ...chunk, choices: [{ ...choice, delta: { ...rest, content: last } }, ...others] };
  return [...runs.map((content) => ({ choices: [{ index: 0, delta: { content } }] })), whole];
}

const isText = (part: unknown): boolean => asObject(part)?.type === 'text';
