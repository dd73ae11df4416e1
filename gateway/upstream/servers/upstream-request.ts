import type { GuardEvent } from '../../../src/stream/events.js';
import type { Asked } from '../../answers/asked.js';
import { ApiError } from '../../errors/api-error.js';
import type { Prompt } from '../../requests/completion-request.js';
import { exactOf } from '../../requests/exact-numbers.js';
import { askedLength, type GenerationFields, stopsOf } from '../../requests/generation-request.js';
import type { Capabilities, UpstreamRequest, UpstreamToken } from '../upstream.js';
import { asList, asObject, type Json, listOf } from '../wire/wire-json.js';
import type { UpstreamServer } from './upstream-server.js';

/** The request to a server, without its log-probabilities. */
export function requestOf({
  fields: request,
  prompt,
  response,
  stream,
  trace,
  refusesUnscored,
  maxTokens: unasked,
}: Asked): Omit<UpstreamRequest, 'topLogprobs'> {
  // The gateway sets the number of alternatives itself where it may lower it. Completions have another name for it.
  const own = request.clamp || prompt !== undefined ? new Set([...OWN, 'top_logprobs']) : OWN;
  const { messages, temperature, top_p, top_k, seed } = request;
  const maxTokens = askedLength(request)?.tokens ?? unasked;
  return {
    messages,
    ...(prompt !== undefined && { prompt }),
    ...(response && { isResponse: true }),
    ...(stream === false && { wholeWanted: true }),
    ...(trace && { trace }),
    ...(refusesUnscored && { knownOnly: true }),
    fields: Object.fromEntries(Object.entries(response ?? request).filter(([name]) => !own.has(name))),
    exact: exactOf(response ?? request),
    sampling: {
      ...(isGiven(temperature) && { temperature }),
      ...(isGiven(top_p) && { topP: top_p }),
      ...(isGiven(top_k) && { topK: top_k }),
      ...(isGiven(seed) && { seed }),
    },
    ...(isGiven(maxTokens) && { maxTokens }),
    stop: stopsOf(request),
  };
}

/** State of a text before it is written. */
export function prefixOf(
  prompt: Prompt | undefined,
  { tokenIds }: Capabilities,
): NonNullable<UpstreamRequest['prefix']> {
  const prefix = { text: '', promptIds: null, ids: null };
  if (prompt === undefined) return prefix;
  if (typeof prompt === 'string') return { ...prefix, prompt, raw: true };
  return { ...prefix, promptIds: prompt, ids: tokenIds === 'none' ? null : [], raw: true };
}

/** Fields that the gateway sets itself. */
const OWN: ReadonlySet<string> = new Set([
  ...['type', 'request_id', 'resumable', 'guard', 'model', 'messages', 'clamp'],
  'stream',
]);

/**
 * Whether the answer is one text, which can be continued as such: a call or a value of a schema that has begun is no
 * text to go on from.
 */
export function isText({ fields = {}, isResponse }: Pick<UpstreamRequest, 'fields' | 'isResponse'>): boolean {
  if (isResponse) return false;
  const { n, tools, functions, response_format: format, modalities } = fields;
  const form = asObject(format)?.type ?? 'text';
  const kinds = listOf(modalities);
  const calls = [tools, functions].some((each) => asList(each)?.length);
  return (n ?? 1) === 1 && form === 'text' && !calls && kinds.every((kind) => kind === 'text');
}

/**
 * Alternatives to ask for: as many as the client does, or with `clamp` at most as many as there are. Without a guard the
 * server says what it refuses.
 * @throws ApiError 400 if no server returns so many
 */
export function topLogprobsOf(request: GenerationFields, { logprobs }: Capabilities): number {
  const asked = request.top_logprobs ?? 0;
  if (asked <= (logprobs ?? 0) || request.clamp) return Math.min(asked, logprobs ?? 0);
  if (request.guard.enabled === false) return asked;
  const problem =
    logprobs === null
      ? 'the upstream returns no log-probabilities'
      : `the upstream returns at most ${logprobs}`;
  throw invalid('top_logprobs', problem);
}

/** Says that `clamp` lowered the number of alternatives, where it did. */
export const topLogprobsWarnings = ({ top_logprobs: asked }: GenerationFields, reported: number): string[] =>
  (asked ?? 0) > reported
    ? [`top_logprobs: lowered from ${asked} to ${reported}, all that the upstream returns`]
    : [];

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;

/** @param param the field of the request that is at fault */
export const invalid = (param: string, problem: string): ApiError =>
  new ApiError('invalid_value', `${param}: ${problem}`, param);

/** Whether a server returns so many alternatives of each token. */
export const tells = ({ capabilities }: UpstreamServer, topLogprobs: number): boolean =>
  capabilities !== null && topLogprobs <= (capabilities.logprobs ?? 0);

/** Leaves out what only the scores need. */
export const withTop =
  (topLogprobs: number) =>
  (event: GuardEvent): GuardEvent => {
    if (event.type === 'upstream.delta') return { ...event, chunk: chunkWithTop(event.chunk, topLogprobs) };
    if (event.type !== 'token.delta') return event;
    const reported: typeof event & UpstreamToken = event;
    const top = reported.topLogprobs.slice(0, topLogprobs);
    if (!reported.bytes || reported.name !== undefined)
      return top.length < reported.topLogprobs.length ? { ...reported, topLogprobs: top } : event;
    const { bytes: _, ...token } = reported;
    return { ...token, topLogprobs: top };
  };

/** Its other choices, and what it says beside the text. */
function chunkWithTop(chunk: Json, topLogprobs: number): Json {
  const cut = (entries: unknown): unknown =>
    asList(entries)?.map((entry) => {
      const top = asList(asObject(entry)?.top_logprobs);
      return top ? { ...asObject(entry), top_logprobs: top.slice(0, topLogprobs) } : entry;
    }) ?? entries;
  const choices = asList(chunk.choices)?.map((choice) => {
    const logprobs = asObject(asObject(choice)?.logprobs);
    if (!logprobs) return choice;
    const lists = Object.entries(logprobs).map(([name, entries]) => [name, cut(entries)]);
    return { ...asObject(choice), logprobs: Object.fromEntries(lists) };
  });
  return { ...chunk, ...(choices && { choices }) };
}
