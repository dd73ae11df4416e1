import { asObject, type Json, listOf } from '#gateway/upstream/wire/wire-json.js';
import { type StrictRequest, type StrictUpstream, strictUpstream } from './strict-upstream.js';

/** Doubtful words of the models of this server: a key with a guard that stops at doubtful steps must not see them. */
export const DOUBTFUL = { m: 'XYZZY', 'theirs-too': 'PLUGH', free: 'FROTZ' } as const;

/** A token of the answer, and how probable it is. */
type Token = readonly [text: string, probability: number];

const tokens = (texts: readonly string[], probability: number): Token[] =>
  texts.map((text) => [text, probability]);
const CALM = tokens(['One', ' more', '.\n', 'And', ' so', '.\n', 'Then', ' on', '.\n'], 0.9);

/** Doubtful answer of the first model that a request names, else of the first of the server. */
function doubtOf(
  { model, models }: Json,
  served: Served,
): { readonly tokens: readonly Token[]; readonly text: string } {
  const asked = listOf(models)[0] ?? model;
  const word = DOUBTFUL[served.find((name) => name === asked) ?? served[0]];
  const all = [
    ...tokens(['It', ' is'], 0.9),
    ...tokens([` ${word}`], 0.0001),
    ...tokens(['.\n', 'Done', '.'], 0.9),
  ];
  // The same as one part, without a word about its probability.
  return { tokens: all, text: all.map(([text]) => text).join('') };
}

/** The models of a server. */
type Served = readonly [keyof typeof DOUBTFUL, ...(keyof typeof DOUBTFUL)[]];

/** Data that the server remembers of all clients: it does not distinguish them. */
interface Memory {
  readonly said: string[];
  /** Requests for anything but an answer, such as to delete a model. */
  readonly acts: string[];
}

export interface ObligingUpstream extends StrictUpstream, Memory {}

/**
 * A server that does everything its clients ask, as vLLM, llama.cpp, Ollama, OpenRouter and OpenAI do: it writes
 * several choices, echoes, hides log-probabilities or writes them in other forms, answers by other models, reads stored
 * data, and resolves paths as lenient servers do. Each answer begins with the text of the last message, and if that is
 * not "calm", ends with a doubtful word.
 */
export async function obligingUpstream(...served: Served): Promise<ObligingUpstream> {
  const memory: Memory = { said: [], acts: [] };
  const upstream = await strictUpstream((request) => answerTo(request, memory, served));
  return { ...upstream, ...memory };
}

/** Path as a lenient server, or a proxy before it, reads it. */
function resolved(target: string): string {
  const [path = ''] = target.split(/[?#]/);
  const decoded = path.replaceAll(/%[0-9a-f]{2}/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  const parts: string[] = [];
  for (const part of decoded.replaceAll('\\', '/').split('/')) {
    const [name = ''] = part.split(';');
    if (name === '..') parts.pop();
    else if (name !== '' && name !== '.') parts.push(name);
  }
  return `/${parts.join('/')}`.toLowerCase();
}

const WRITES =
  /^\/v1\/(chat\/completions|completions|responses|messages|audio\/transcriptions|models\/[^/]+:generate)/;
const STATELESS =
  /^\/v1\/(embeddings|moderations|rerank|score|tokenize|detokenize|images\/generations|audio\/speech|thing)$/;

function answerTo(request: StrictRequest, memory: Memory, served: Served) {
  const path = resolved(request.target);
  const json = parsed(request.body);
  if (request.method === 'POST' && WRITES.test(path)) return written(path, json, memory, served);
  if (STATELESS.test(path)) return { type: JSON_TYPE, body: '{"object":"list","data":[]}' };
  // Probes come from the gateway itself.
  if (PROBES.has(`${request.method} ${path}`)) return { status: 404, type: JSON_TYPE, body: '{}' };
  memory.acts.push(`${request.method} ${path}`);
  return { type: JSON_TYPE, body: JSON.stringify({ stored: memory.said, text: doubtOf(json, served).text }) };
}

export const PROBES: ReadonlySet<string> = new Set(['GET /v1/models']);
const JSON_TYPE = 'application/json';
const SSE_TYPE = 'text/event-stream';

/** Body parsed by its bytes, whatever the content type; the first item of a list. */
function parsed(body: Buffer): Json {
  for (const encoding of ['utf8', 'utf16le'] as const) {
    try {
      const value: unknown = JSON.parse(body.toString(encoding).replace(/^\uFEFF/, ''));
      return asObject(value) ?? asObject(listOf(value)[0]) ?? {};
    } catch {}
  }
  return { raw: true, messages: [{ content: body.toString() }] };
}

function written(path: string, body: Json, memory: Memory, served: Served) {
  const doubt = doubtOf(body, served);
  const last = JSON.stringify(listOf(body.messages).at(-1) ?? body.input ?? body.prompt ?? '');
  const own = /key:\w+/.exec(last)?.[0] ?? '';
  // Whatever refers to what is stored has it read.
  const refers =
    body.raw !== true &&
    /previous_response_id|conversation|file_id|item_reference|vector_store|"container"/.test(
      JSON.stringify(body, (name, value: unknown) =>
        name === 'properties' || name === 'metadata' ? undefined : value,
      ),
    );
  const begin: Token[] = [
    [own, 0.9],
    [' says', 0.9],
    ['.\n', 0.9],
  ];
  const stored: Token[] = refers
    ? [
        [memory.said.join(' '), 0.9],
        ['.\n', 0.9],
      ]
    : [];
  memory.said.push(own);
  const all = [...begin, ...stored, ...CALM, ...(last.includes('calm') ? [] : doubt.tokens)];
  if (path.startsWith('/v1/responses')) return { type: SSE_TYPE, body: ofResponse(body, all, doubt.text) };
  if (path.startsWith('/v1/chat') || path.startsWith('/v1/completions'))
    return { type: SSE_TYPE, body: ofCompletion(path.startsWith('/v1/chat'), body, all, doubt.text) };
  return { type: JSON_TYPE, body: JSON.stringify({ content: all.map(([text]) => text).join('') }) };
}

const event = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`;

const isTrue = (value: unknown): boolean => value === true || value === 1 || value === 'true';

function ofCompletion(chat: boolean, body: Json, tokens: readonly Token[], doubt: string): string {
  const choice = (more: object, index = 0) => event({ choices: [{ index, finish_reason: null, ...more }] });
  const says = (text: string) => (chat ? { delta: { content: text } } : { text });
  const events: string[] = [];
  const { chat_template_kwargs: kwargs } = body;
  if (isTrue(asObject(kwargs)?.enable_thinking)) events.push(choice({ delta: { reasoning_content: doubt } }));
  if (isTrue(body.think)) events.push(choice({ delta: { thoughts: doubt } }));
  if (isTrue(body.echo)) events.push(choice(says(doubt)));
  if (listOf(body.tools).length > 0 || listOf(body.functions).length > 0) {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: doubt } };
    events.push(choice({ delta: { tool_calls: [call] } }));
  }
  if (JSON.stringify(body.modalities ?? '').includes('audio'))
    events.push(choice({ delta: { audio: { id: 'a', transcript: doubt } } }));
  const choices = Number(body.n ?? body.best_of ?? 1) + (isTrue(body.use_beam_search) ? 1 : 0);
  for (let index = 1; index < choices && index < 4; index++) events.push(choice(says(doubt), index));
  if (isTrue(body.whole)) events.push(choice({ message: { content: doubt }, ...says('') }));
  for (const [i, [text, probability]] of tokens.entries()) {
    const more = isTrue(body.verbose) && i === 0 ? { __verbose: { content: doubt } } : {};
    const logprobs = logprobsOf(chat, body, text, probability);
    const ids = isTrue(body.return_token_ids) ? { token_ids: [1000 + i] } : {};
    events.push(
      event({ choices: [{ index: 0, finish_reason: null, ...says(text), logprobs, ...ids }], ...more }),
    );
  }
  events.push(choice({ ...says(''), finish_reason: 'stop' }));
  const usage = { prompt_tokens: 5, completion_tokens: tokens.length, total_tokens: 5 + tokens.length };
  return `${events.join('')}${event({ choices: [], usage })}data: [DONE]\n\n`;
}

/** Nothing where the request says so in one of the ways that servers have for it. */
function logprobsOf(chat: boolean, body: Json, text: string, probability: number) {
  const asked = chat ? isTrue(body.logprobs) : typeof body.logprobs === 'number';
  if (!asked || body.n_probs === 0 || isTrue(body.hide_logprobs)) return null;
  const name = isTrue(body.return_tokens_as_token_ids) ? 'token_id:17' : text;
  const certain = body.logprobs_mode !== undefined || Object.keys(asObject(body.logit_bias) ?? {}).length > 0;
  const logprob = certain ? 0 : Math.log(probability);
  if (!chat)
    return {
      tokens: [name],
      token_logprobs: [logprob],
      top_logprobs: [{ [name]: logprob, other: -9 }],
      text_offset: [0],
    };
  const said = isTrue(body.post_sampling_probs) ? { prob: probability } : { logprob };
  const entry = { token: name, bytes: [...Buffer.from(name)], ...said };
  return { content: [{ ...entry, top_logprobs: [entry, { token: 'other', logprob: -9, bytes: [] }] }] };
}

function ofResponse(body: Json, tokens: readonly Token[], doubt: string): string {
  const text = tokens.map(([each]) => each).join('');
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const part = { type: 'output_text', text, annotations: [], logprobs: [] };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'theirs', output: [] };
  const events: Json[] = [{ type: 'response.created', response }];
  const output: Json[] = [];
  if (listOf(body.tools).length > 0) {
    const item = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: doubt };
    output.push(item);
    if (!isTrue(body.parallel_tool_calls))
      events.push({ type: 'response.output_item.added', output_index: 1, item });
    events.push({ type: 'response.custom_tool_call_input.delta', delta: doubt });
  }
  if (asObject(body.reasoning)?.summary !== undefined)
    events.push({ type: 'response.reasoning_summary_text.delta', delta: doubt });
  events.push({ type: 'response.output_item.added', output_index: 0, item: { ...message, content: [] } });
  events.push({ type: 'response.content_part.added', ...place, part: { ...part, text: '' } });
  const logprobs = listOf(body.include).includes('message.output_text.logprobs');
  // Some bring the whole text at its end alone.
  const deltas = body.truncation === 'auto' ? tokens.slice(0, 3) : tokens;
  for (const [each, probability] of deltas) {
    const entry = {
      token: each,
      logprob: Math.log(probability),
      bytes: [...Buffer.from(each)],
      top_logprobs: [],
    };
    const told = logprobs && { logprobs: [{ ...entry, top_logprobs: [{ token: 'other', logprob: -9 }] }] };
    events.push({ type: 'response.output_text.delta', ...place, delta: each, ...told });
  }
  events.push({ type: 'response.output_text.done', ...place, text });
  events.push({ type: 'response.content_part.done', ...place, part });
  events.push({ type: 'response.output_item.done', output_index: 0, item: message });
  output.unshift(message);
  const usage = { input_tokens: 5, output_tokens: tokens.length, total_tokens: 5 + tokens.length };
  events.push({ type: 'response.completed', response: { ...response, status: 'completed', output, usage } });
  return events.map(event).join('');
}
