import type { RequestBody, Script, ScriptedReply, ScriptedRequest } from './scripted-upstream.js';

/**
 * Doubles of servers. Those of vLLM and llama.cpp answer as the real servers were seen to (docs/upstreams.md says which
 * versions): both pass the contract of upstream-contract.ts. That of Ollama is made from documentation alone.
 */

/** A vocabulary of words: an id is a place in it. Ids below {@link FIRST_WORD} are marks of the template. */
const MARKS = ['<s>', '<|user|>', '<|assistant|>', '<|end|>'];
const FIRST_WORD = MARKS.length;

/** Answer of the model of all doubles, token by token; each with the most probable other one. */
export const ANSWER = ['First', ' it', ' is', ' so', '.\n', 'Then', ' it', ' is', ' not', '.\n', 'Done', '.'];

export interface DoubleOptions {
  readonly answer?: readonly string[];
  /** The probability of the token at a place. */
  readonly probability?: (index: number, body: RequestBody) => number;
  /** Text in place of a token, such as by another seed. */
  readonly vary?: (token: string, index: number, body: RequestBody) => string;
  /** Reasoning that it sends before each answer to a chat (vLLM with a reasoning parser). */
  readonly reasoning?: string;
  /** Awaited before each token. */
  readonly pace?: () => Promise<void>;
  /** The only name of a model that it knows; by default it takes any. */
  readonly serves?: string;
  /** Tokens of prompt and answer together. */
  readonly context?: number;
  /** Alternatives that may be asked for: vLLM's `--max-logprobs`. */
  readonly mostLogprobs?: number;
}

/** One token as the double's model writes it. */
interface Written {
  readonly text: string;
  readonly id: number;
  readonly logprob: number;
  readonly other: string;
}

class Model {
  readonly #options: DoubleOptions & Required<Pick<DoubleOptions, 'answer' | 'probability' | 'vary'>>;
  readonly #words: string[] = [...MARKS];

  constructor(options: DoubleOptions) {
    this.#options = { answer: ANSWER, probability: () => 0.8, vary: (token) => token, ...options };
  }

  get context(): number {
    return this.#options.context ?? Number.POSITIVE_INFINITY;
  }

  knows(name: unknown): boolean {
    return this.#options.serves === undefined || this.#options.serves === name;
  }

  /** The token that ends an answer. */
  get end(): Written {
    return { text: '<|end|>', id: this.id('<|end|>'), logprob: Math.log(0.8), other: ' and' };
  }

  /** Called before each token. */
  async pace(): Promise<void> {
    await this.#options.pace?.();
  }

  id(word: string): number {
    const known = this.#words.indexOf(word);
    return known >= 0 ? known : this.#words.push(word) - 1;
  }

  encode(text: string): number[] {
    return (text.match(/ ?[^\s]+|\s/g) ?? []).map((word) => this.id(word));
  }

  /** The text that ids stand for, without marks. */
  decode(ids: readonly number[]): string {
    return ids.flatMap((id) => (id < FIRST_WORD ? [] : (this.#words[id] ?? '?'))).join('');
  }

  /** Ids of messages as a template renders them, the last one open where it is to be continued. */
  prompt(messages: readonly { readonly role: string; readonly content: string }[], open: boolean): number[] {
    const ids = messages.flatMap(({ role, content }, i) => [
      this.id(`<|${role}|>`),
      ...this.encode(content),
      ...(open && i === messages.length - 1 ? [] : [this.id('<|end|>')]),
    ]);
    return open ? ids : [...ids, this.id('<|assistant|>')];
  }

  /** Continuation of an answer that has begun, and why it stops. */
  write(prefix: string, body: RequestBody, limit: number | undefined): { tokens: Written[]; reason: string } {
    const { answer, probability, vary } = this.#options;
    let length = 0;
    const start = answer.findIndex((token) => {
      const here = length >= prefix.length;
      length += token.length;
      return here;
    });
    const rest = start < 0 ? [] : answer.slice(start);
    const tokens = rest.map((token, i) => {
      const index = start + i;
      const text = vary(token, index, body);
      return { text, id: this.id(text), logprob: Math.log(probability(index, body)), other: `${text}?` };
    });
    const kept = tokens.slice(0, limit ?? tokens.length);
    return { tokens: kept, reason: kept.length < tokens.length ? 'length' : 'stop' };
  }
}

const refuse = (reply: ScriptedReply, message: string, param: string | null = null): void =>
  reply.json(400, { error: { message, type: 'BadRequestError', param, code: 400 } });

/**
 * The text that a server sends with each token. It holds back as many characters as may begin a stop string, so that
 * the text comes later than its tokens.
 */
function withStops(tokens: readonly Written[], { stop }: RequestBody) {
  const stops = typeof stop === 'string' ? [stop] : (stop ?? []);
  const held = Math.max(0, ...stops.map(({ length }) => length - 1));
  const sent: { token: Written; delta: string }[] = [];
  let text = '';
  let from = 0;
  for (const [i, token] of tokens.entries()) {
    text += token.text;
    const found = stops.map((each) => text.indexOf(each)).filter((at) => at >= 0);
    const last = found.length > 0 || i === tokens.length - 1;
    const to = found.length > 0 ? Math.min(...found) : last ? text.length : text.length - held;
    sent.push({ token, delta: text.slice(from, Math.max(from, to)) });
    from = Math.max(from, to);
    if (found.length > 0) return { sent, stopped: true };
  }
  return { sent, stopped: false };
}

const notFound = (reply: ScriptedReply): void => reply.json(404, { detail: 'Not Found' });

const logprobEntry = ({ text, logprob, id, other }: Written, ids: boolean, otherId: number) => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
  ...(ids && { id }),
  top_logprobs: [
    { token: text, logprob, bytes: [...Buffer.from(text)], ...(ids && { id }) },
    {
      token: other,
      logprob: Math.log(1 - Math.exp(logprob)),
      bytes: [...Buffer.from(other)],
      ...(ids && { id: otherId }),
    },
  ],
});

/** The last message if it is the assistant's, and is to be continued. */
function openSequence({ messages = [] }: RequestBody, open: boolean): string {
  const last = messages.at(-1);
  return open && last?.role === 'assistant' ? last.content : '';
}

/**
 * vLLM 0.32.0: `return_token_ids`, `continue_final_message` with `add_generation_prompt: false`, prompts of ids; a last
 * message of the assistant alone is one that has ended. Unknown fields are taken and ignored. The first event of a chat
 * has the ids of the prompt and no token; the last token, which may be the one that ends the answer, and the reason
 * come together. A refusal after the request has reached the engine is an event of a stream with status 200.
 */
export function vllmDouble(options: DoubleOptions = {}): Script {
  const model = new Model(options);
  return async ({ path, body }, reply) => {
    const chat = path === '/v1/chat/completions';
    if (!chat && path !== '/v1/completions') return notFound(reply);
    if (!model.knows(body.model)) {
      const message = `The model \`${body.model}\` does not exist. Valid aliases: ${options.serves}.`;
      return reply.json(404, { error: { message, type: 'NotFoundError', param: 'model', code: 404 } });
    }
    const open = body.continue_final_message === true;
    if (open && body.add_generation_prompt !== false) {
      return refuse(reply, 'Cannot set both `continue_final_message` and `add_generation_prompt` to True.');
    }
    const { context } = model;
    if ((body.max_tokens ?? 0) > context) {
      return refuse(reply, vllmTooMany(body.max_tokens, context), 'max_tokens');
    }
    const prompt = chat ? model.prompt(body.messages ?? [], open) : idsOf(model, body);
    if (prompt.length + 1 > context) return refuse(reply, vllmTooLong(context), 'input_tokens');
    const most = Number(body.top_logprobs ?? body.logprobs ?? 0);
    const { mostLogprobs = 20 } = options;
    if (most > mostLogprobs) {
      const message = `Requested sample logprobs of ${most}, which is greater than max allowed: ${mostLogprobs} (parameter=logprobs, value=${most})`;
      reply.head().data({ error: { message, type: 'BadRequestError', param: 'logprobs', code: 400 } });
      return reply.last();
    }
    const prefix = chat ? openSequence(body, open) : afterAssistant(model, prompt);
    const limit = Math.min(body.max_tokens ?? Number.POSITIVE_INFINITY, context - prompt.length);
    const { tokens, reason } = model.write(prefix, body, limit);
    const { sent, stopped } = withStops(tokens, body);
    // The token that ends the answer is one of it, without text.
    if (!stopped && reason === 'stop') sent.push({ token: model.end, delta: '' });
    const ids = body.return_token_ids === true;
    if (body.stream !== true) {
      const entries = sent.map(({ token }) => logprobEntry(token, false, 0));
      const text = sent.map(({ delta }) => delta).join('');
      const [object, said, logprobs] = chat
        ? ['chat.completion', { message: { role: 'assistant', content: text } }, { content: entries }]
        : ['text_completion', { text }, { tokens: entries.map(({ token }) => token) }];
      const choice = { index: 0, ...said, finish_reason: stopped ? 'stop' : reason };
      return reply.json(200, {
        id: 'x',
        object,
        created: 1,
        model: body.model,
        choices: [{ ...choice, logprobs: body.logprobs ? logprobs : null }],
        usage: usageOf(prompt.length, sent.length),
      });
    }
    reply.head();
    if (chat) {
      const first = {
        index: 0,
        delta: { role: 'assistant', content: '' },
        logprobs: null,
        finish_reason: null,
      };
      reply.data({ choices: [first], ...(ids && { prompt_token_ids: prompt, prompt_text: null }) });
    }
    if (chat && options.reasoning !== undefined) {
      // The mark that ends it is swallowed, and its id told.
      const thought = { index: 0, finish_reason: null, ...(ids && { token_ids: [model.id('hm')] }) };
      reply.data({ choices: [{ ...thought, delta: { reasoning: options.reasoning } }] });
      reply.data({ choices: [{ ...thought, delta: {} }] });
    }
    for (const [i, { token, delta: text }] of sent.entries()) {
      await model.pace();
      const delta = chat ? { delta: { content: text } } : { text };
      const logprobs = chat
        ? body.logprobs === true && { logprobs: { content: [logprobEntry(token, false, 0)] } }
        : typeof body.logprobs === 'number' && { logprobs: legacyLogprobs(token) };
      reply.data({
        object: chat ? 'chat.completion.chunk' : 'text_completion',
        choices: [
          {
            index: 0,
            ...delta,
            ...logprobs,
            finish_reason: i < sent.length - 1 ? null : stopped ? 'stop' : reason,
            ...(ids && { token_ids: [token.id] }),
            ...(ids && !chat && { prompt_token_ids: i === 0 ? prompt : null }),
          },
        ],
      });
    }
    finish(reply, prompt.length, sent.length);
  };
}

const vllmTooMany = (tokens: number | undefined, context: number): string =>
  `max_tokens=${tokens} cannot be greater than max_model_len=${context}. Please request fewer output tokens. (parameter=max_tokens, value=${tokens})`;

const vllmTooLong = (context: number): string =>
  `This model's maximum context length is ${context} tokens. However, your prompt contains at least ${context + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=${context + 1})`;

/**
 * llama.cpp server: ids among the log-probabilities, prompts of ids, any name of a model. By default a last message of
 * the assistant is continued (`--no-prefill-assistant` is `prefill: false`), which repeats it; with
 * `continue_final_message` it does not (`fields: false` is a server from before its pull request 23012, which repeats
 * nothing). Unlike the real one it keeps connections: tests count requests.
 */
export function llamaCppDouble({
  prefill = true,
  fields = true,
  ...options
}: DoubleOptions & { readonly prefill?: boolean; readonly fields?: boolean } = {}): Script {
  const model = new Model(options);
  return async ({ path, body }, reply) => {
    const chat = path === '/v1/chat/completions';
    if (!chat && path !== '/v1/completions')
      return llamaRefusal(reply, 404, 'not_found_error', 'File Not Found');
    const continues = fields && body.continue_final_message === true;
    if (continues && body.add_generation_prompt !== false) {
      const message = 'Cannot set both add_generation_prompt and continue_final_message to true.';
      return llamaRefusal(reply, 400, 'invalid_request_error', message);
    }
    const open = continues || (prefill && body.messages?.at(-1)?.role === 'assistant');
    const prompt = chat ? model.prompt(body.messages ?? [], open) : idsOf(model, body);
    if (prompt.length >= model.context) {
      const message = `request (${prompt.length} tokens) exceeds the available context size (${model.context} tokens), try increasing it`;
      return llamaRefusal(reply, 400, 'exceed_context_size_error', message);
    }
    const prefix = chat ? openSequence(body, open) : afterAssistant(model, prompt);
    const limit = Math.min(body.max_tokens ?? Number.POSITIVE_INFINITY, model.context - prompt.length);
    const { tokens, reason } = model.write(prefix, body, limit);
    const { sent, stopped } = heldBack(tokens, reason === 'stop', body);
    const finishReason = stopped ? 'stop' : reason;
    const alternatives = chat ? body.logprobs === true && (body.top_logprobs ?? 20) : body.logprobs;
    let repeated = chat && open && fields && !continues ? prefix : '';
    reply.head();
    for (const [i, { token, text }] of sent.entries()) {
      await model.pace();
      if (chat && i === 0) {
        reply.data({
          choices: [{ finish_reason: null, index: 0, delta: { role: 'assistant', content: null } }],
        });
      }
      // Chats send no log-probabilities of text that they hold back.
      if (chat && text === '') continue;
      const entry = {
        ...logprobEntry(token, true, model.id(token.other)),
        token: text,
        bytes: [...Buffer.from(text)],
      };
      const logprobs = alternatives ? { content: [entry] } : null;
      reply.data({
        choices: [
          {
            index: 0,
            finish_reason: null,
            ...(chat
              ? { delta: { content: `${repeated}${text}` }, ...(logprobs && { logprobs }) }
              : { text, logprobs }),
          },
        ],
        ...(body.timings_per_token === true && { timings: { predicted_n: i + 1 } }),
      });
      repeated = '';
    }
    const usage = usageOf(prompt.length, sent.length);
    const last = { index: 0, finish_reason: finishReason };
    if (chat) {
      reply.data({ choices: [{ ...last, delta: {} }] });
      reply.data({ choices: [], usage });
    } else reply.data({ choices: [{ ...last, text: '', logprobs: null }], usage });
    reply.data('[DONE]');
    reply.end();
  };
}

const llamaRefusal = (reply: ScriptedReply, code: number, type: string, message: string): void =>
  reply.json(code, { error: { code, message, type } });

/**
 * The text that llama.cpp sends with each token: none where a stop string may have begun, and later all that was held
 * back, of which only the last token is described. Text that is held back when `max_tokens` are written is lost.
 */
function heldBack(tokens: readonly Written[], ended: boolean, { stop }: RequestBody) {
  const stops = typeof stop === 'string' ? [stop] : (stop ?? []);
  const mayBegin = (text: string): boolean =>
    stops.some((each) => [...each].some((_, i) => i > 0 && text.endsWith(each.slice(0, i))));
  const sent: { readonly token: Written; readonly text: string }[] = [];
  let held = '';
  for (const [i, token] of tokens.entries()) {
    held += token.text;
    const found = stops.map((each) => held.indexOf(each)).filter((at) => at >= 0);
    if (found.length > 0) {
      sent.push({ token, text: held.slice(0, Math.min(...found)) });
      return { sent, stopped: true };
    }
    const waits = mayBegin(held) && !(ended && i === tokens.length - 1);
    sent.push({ token, text: waits ? '' : held });
    if (!waits) held = '';
  }
  return { sent, stopped: false };
}

/**
 * Ollama: log-probabilities without ids, prompts as text alone; templates that end every message, so that nothing is
 * continued. `/v1/completions` puts the template around its prompt, unless the server is another that does not (`raw`).
 */
export function ollamaDouble({
  raw = false,
  ...options
}: DoubleOptions & { readonly raw?: boolean } = {}): Script {
  const model = new Model(options);
  return ({ path, body }, reply) => {
    const chat = path === '/v1/chat/completions';
    if (!chat && path !== '/v1/completions') return notFound(reply);
    if (Array.isArray(body.prompt)) {
      return refuse(
        reply,
        'json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type string',
      );
    }
    const messages = chat ? (body.messages ?? []) : [{ role: 'user', content: body.prompt ?? '' }];
    const prompt = raw && !chat ? idsOf(model, body) : model.prompt(messages, false);
    const [, begun = ''] = body.prompt?.split('<|assistant|>') ?? [];
    const { tokens, reason } = model.write(raw ? begun : '', body, body.max_tokens);
    reply.head();
    for (const token of tokens) {
      const logprobs =
        body.logprobs === true ? { logprobs: { content: [logprobEntry(token, false, 0)] } } : {};
      const delta = chat ? { delta: { role: 'assistant', content: token.text } } : { text: token.text };
      reply.data({ choices: [{ index: 0, ...delta, finish_reason: null, ...logprobs }] });
    }
    reply.data({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: reason }] });
    finish(reply, prompt.length, tokens.length);
  };
}

function idsOf(model: Model, { prompt = '' }: RequestBody): number[] {
  return typeof prompt === 'string' ? model.encode(prompt) : prompt;
}

/** Text after the last mark that begins an answer. */
function afterAssistant(model: Model, ids: readonly number[]): string {
  return model.decode(ids.slice(ids.lastIndexOf(model.id('<|assistant|>')) + 1));
}

const legacyLogprobs = ({ text, logprob, other }: Written) => ({
  text_offset: [0],
  tokens: [text],
  token_logprobs: [logprob],
  top_logprobs: [{ [text]: logprob, [other]: Math.log(1 - Math.exp(logprob)) }],
});

const usageOf = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

function finish(reply: ScriptedReply, prompt: number, completion: number): void {
  reply.data({ choices: [], usage: usageOf(prompt, completion) });
  reply.data('[DONE]');
  reply.end();
}

/** Whether flinch asks what a server can do. */
export const isProbe = ({ body }: ScriptedRequest): boolean => body.max_tokens === 2;

/** Answers the probe as a server that tells log-probabilities and continues nothing; the rest is the script's. */
export function answering(script: Script): Script {
  const probed = ollamaDouble();
  return (request, reply) => (isProbe(request) ? probed(request, reply) : script(request, reply));
}

/** A chunk of a chat, with the log-probability of its only token unless that is `null`. */
export const chunk = (text: string, logprob: number | null = -0.1, token = text) => ({
  choices: [
    {
      index: 0,
      delta: { content: text },
      finish_reason: null,
      ...(logprob !== null && {
        logprobs: {
          content: [
            {
              token,
              logprob,
              bytes: [...Buffer.from(token)],
              top_logprobs: [
                { token, logprob },
                { token: `${token}?`, logprob: -3 },
              ],
            },
          ],
        },
      }),
    },
  ],
});

export const stopChunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** A server that tells no log-probabilities. */
export const mute: Script = (_, reply) => reply.head().last(chunk('Yes', null), stopChunk);
