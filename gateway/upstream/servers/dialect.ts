import { LOGPROBS } from '../../requests/response-request.js';
import type { Capabilities, ResumeWay, UpstreamRequest } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import { asObject, listOf } from '../wire/wire-json.js';

/** How one server is asked, as the probe found out. */
export interface Dialect {
  readonly capabilities: Capabilities;
  /** Whether it takes `stream_options`. */
  readonly usage: boolean;
  /**
   * Name of the limit of tokens in a chat. OpenAI's newer models refuse the first, Ollama does not know the
   * other.
   */
  readonly limit: 'max_tokens' | 'max_completion_tokens';
  /** Why it refuses streams: then whole answers are asked for. */
  readonly unstreamed: UpstreamError | null;
  /** Ways in the order in which they are tried. */
  readonly ways: readonly ResumeWay[];
  /**
   * Form of a continuation: with `continue_final_message: true, add_generation_prompt: false` (vLLM;
   * llama.cpp since its pull request 23012), or by a last message of the assistant alone (llama.cpp unless
   * `--no-prefill-assistant`, its pull request 13174; Ollama if the template does so, its issue 6778).
   */
  readonly continuation: 'fields' | 'message';
  /** Whether its chat template takes white space off the end of a text that is to be continued. */
  readonly trims: boolean;
}

/** The form of an answer. */
export interface AnswerForm {
  /** Whether it is one of `/responses`. */
  readonly isResponse: boolean;
  /** Whether it is passed on as it comes. */
  readonly verbatim: boolean;
  /** Whether it is one object, not a stream. */
  readonly whole: boolean;
}

/** Request of a server, and the form of the answer. */
export interface Call {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly form: AnswerForm;
}

/** A request whose form is chosen. */
type DialectRequest = UpstreamRequest & {
  /** Whether the answer is to come as one object. */
  readonly whole: boolean;
};

type Prefix = NonNullable<UpstreamRequest['prefix']>;

/** The first way for which everything is known; `null` for none. */
export function wayOf({ ways }: Pick<Dialect, 'ways'>, prefix: Prefix): ResumeWay | null {
  const possible: Readonly<Record<ResumeWay, boolean>> = {
    tokens: prefix.promptIds !== null && prefix.ids !== null,
    continueFinalMessage: !prefix.raw,
    prompt: prefix.prompt !== undefined,
  };
  const way = ways.find((way) => possible[way]) ?? null;
  // A server that takes ids puts nothing around a text either.
  return way ?? (prefix.raw && ways.includes('tokens') && possible.prompt ? 'prompt' : null);
}

/** White space at the end of a text that is not sent, for the server would not see it: it may write it again. */
export function seamOf(dialect: Pick<Dialect, 'ways' | 'trims'>, prefix: Prefix | undefined): string {
  if (!prefix || !dialect.trims || wayOf(dialect, prefix) !== 'continueFinalMessage') return '';
  return prefix.text.slice(prefix.text.trimEnd().length);
}

/** @throws UpstreamError for a continuation that the server has no way for */
export function callOf(model: string, given: UpstreamRequest, dialect: Dialect): Call {
  const unstreamed = given.unstreamed ?? dialect.unstreamed;
  // What nobody scores is asked for as the client does: the refusal of a stream is the server's own.
  const whole = given.verbatim ? (given.wholeWanted ?? false) : unstreamed !== null;
  const request = { ...given, whole };
  const { prefix, prompt: asked } = request;
  if (request.isResponse) return response(model, request, dialect);
  if (!prefix && asked !== undefined) return completion(model, request, dialect, asked);
  if (!prefix) return chat(model, request, dialect, {});
  const way = wayOf(dialect, prefix);
  if (way === 'tokens') {
    return completion(model, request, dialect, [...(prefix.promptIds ?? []), ...(prefix.ids ?? [])]);
  }
  if (way === 'continueFinalMessage') {
    const content = prefix.text.slice(0, prefix.text.length - seamOf(dialect, prefix).length);
    const messages = [...request.messages, { role: 'assistant', content }];
    return chat(model, { ...request, messages }, dialect, CONTINUATION[dialect.continuation]);
  }
  if (way === 'prompt') return completion(model, request, dialect, `${prefix.prompt}${prefix.text}`);
  throw new UpstreamError('upstream_error', 'the upstream cannot continue a text');
}

const CONTINUATION = {
  fields: { continue_final_message: true, add_generation_prompt: false },
  message: {},
} as const;

function chat(model: string, request: DialectRequest, dialect: Dialect, extra: object): Call {
  const top = alternatives(request, dialect);
  const { fields = {}, maxTokens, messages } = request;
  const limit = LIMITS.find((name) => isGiven(fields[name])) ?? dialect.limit;
  const body = {
    ...fields,
    ...common(model, request, dialect),
    ...given(limit, maxTokens),
    messages,
    ...(top !== null && { logprobs: true, top_logprobs: top }),
    ...extra,
  };
  return { path: '/chat/completions', body, form: formOf(request) };
}

function completion(
  model: string,
  request: DialectRequest,
  dialect: Dialect,
  prompt: string | readonly number[],
): Call {
  const top = alternatives(request, dialect);
  const { fields = {} } = request;
  const own = request.prompt === undefined ? withoutFieldsOfChats(fields) : fields;
  const body = {
    ...own,
    ...common(model, request, dialect),
    ...given('max_tokens', request.maxTokens),
    prompt,
    ...(top !== null && { logprobs: top }),
  };
  return { path: '/completions', body, form: formOf(request) };
}

const formOf = ({ isResponse = false, verbatim = false, whole }: DialectRequest): AnswerForm => ({
  isResponse,
  verbatim,
  whole,
});

/** OpenAI's API reference, "Responses". */
function response(model: string, request: DialectRequest, dialect: Dialect): Call {
  const { fields = {}, maxTokens, whole } = request;
  const top = alternatives(request, dialect);
  const include = new Set([...listOf(fields.include), LOGPROBS]);
  const body = {
    ...fields,
    model,
    // Said also where it is not wanted: transformers' `serve` streams a response unless it is told not to.
    stream: !whole,
    ...given('max_output_tokens', maxTokens),
    ...(top !== null && { include: [...include], top_logprobs: top }),
  };
  return { path: '/responses', body, form: formOf(request) };
}

const withoutFieldsOfChats = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !OF_CHATS.has(name)));

const LIMITS = ['max_completion_tokens', 'max_tokens'] as const;

/** Fields that a completion of a prompt does not have. */
const OF_CHATS: ReadonlySet<string> = new Set([
  ...['max_completion_tokens', 'tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call'],
  ...['response_format', 'modalities', 'audio', 'prediction', 'reasoning_effort', 'web_search_options'],
  ...['logprobs', 'top_logprobs', 'add_generation_prompt', 'continue_final_message', 'chat_template'],
  'chat_template_kwargs',
]);

function common(
  model: string,
  { fields, sampling, stop, verbatim, whole }: DialectRequest,
  dialect: Dialect,
): object {
  const options = { ...asObject(fields?.stream_options), include_usage: true };
  return {
    model,
    stream: !whole,
    ...(!whole && dialect.usage && { stream_options: options }),
    ...samplingFields(sampling),
    ...(stop.length > 0 && { stop: fields?.stop ?? stop }),
    ...(!verbatim && IDS[dialect.capabilities.tokenIds]),
  };
}

const samplingFields = ({ temperature, topP, topK, seed }: UpstreamRequest['sampling']): object => ({
  ...given('temperature', temperature),
  ...given('top_p', topP),
  ...given('top_k', topK),
  ...given('seed', seed),
});

const IDS: Readonly<Record<Capabilities['tokenIds'], object>> = {
  return_token_ids: { return_token_ids: true },
  // llama.cpp: how many tokens it has written, for it does not describe all.
  return_tokens: { timings_per_token: true },
  none: {},
};

/** One at least: with `top_logprobs: 0` llama.cpp tells nothing at all. */
function alternatives(
  { topLogprobs, verbatim, withoutLogprobs }: DialectRequest,
  { capabilities }: Dialect,
): number | null {
  if (verbatim || withoutLogprobs) return null;
  return capabilities.logprobs === null ? null : Math.max(1, Math.min(topLogprobs, capabilities.logprobs));
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const given = (name: string, value: number | undefined): object =>
  value === undefined ? {} : { [name]: value };
