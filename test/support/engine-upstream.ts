import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Engine, GeneratedToken, Generation } from '#src/index.js';
import { originOf } from './http-receiver.js';
import { textContent } from './scripted-upstream.js';

/**
 * A server that speaks as vLLM 0.32.0 was seen to do (docs/upstreams.md), with an engine behind it. See also
 * docs.vllm.ai "OpenAI-Compatible Server"; vllm/entrypoints/openai/chat_completion/protocol.py and
 * completion/protocol.py for `return_token_ids`, `token_ids`, `prompt_token_ids`, `continue_final_message` and
 * `add_generation_prompt`; the token that ends an answer is among its ids, without text.
 */
export interface EngineUpstreamOptions {
  /** Takes `return_token_ids`. */
  readonly tokenIds?: boolean;
  readonly logprobs?: boolean;
  /** Continues a last message of the assistant. */
  readonly continues?: boolean;
  /** Takes prompts at `/completions`: ids or text. */
  readonly completions?: boolean;
  /** Is overloaded whenever it is to continue a text, but for the probe. */
  readonly fails?: boolean;
  /** System text that its template puts before every conversation. */
  readonly system?: string;
  /** Delta that its parsers make of a token of a chat; by default its text belongs to the answer. */
  readonly deltaOf?: (index: number, text: string) => object;
}

const body = z.object({
  messages: z.array(z.object({ role: z.string(), content: textContent })).optional(),
  tools: z.array(z.unknown()).optional(),
  n: z.number().default(1),
  prompt: z.union([z.string(), z.array(z.number())]).optional(),
  temperature: z.number().default(1),
  top_p: z.number().default(1),
  top_k: z.number().default(0),
  seed: z.number().default(0),
  max_tokens: z.number().optional(),
  stop: z.array(z.string()).default([]),
  logprobs: z.union([z.boolean(), z.number()]).optional(),
  top_logprobs: z.number().default(0),
  return_token_ids: z.boolean().default(false),
  continue_final_message: z.boolean().default(false),
});
type Body = z.output<typeof body>;

export class EngineUpstream {
  readonly #engine: Engine;
  readonly #options: EngineUpstreamOptions;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      const param = error instanceof Refused ? error.param : null;
      if (!response.headersSent) response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: String(error), param } }));
    });
  });
  /** Address, up to and with `/v1`. */
  url = '';
  /** Requests that it got, without those of the probe. */
  readonly asked: Body[] = [];
  /** Answers that the other side broke off. */
  cancelled = 0;
  /** Answers that it is writing. */
  running = 0;
  /** Whether it writes nothing, as a process that was stopped. */
  stopped = false;

  private constructor(engine: Engine, options: EngineUpstreamOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  static async start(engine: Engine, options: EngineUpstreamOptions = {}, port = 0): Promise<EngineUpstream> {
    const upstream = new EngineUpstream(engine, options);
    upstream.url = `${await originOf(upstream.#server, port)}/v1`;
    return upstream;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chat = request.url === '/v1/chat/completions';
    if (!chat && !(request.url === '/v1/completions' && this.#options.completions)) {
      response.writeHead(404).end();
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(Buffer.from(part));
    const asked = body.parse(JSON.parse(Buffer.concat(parts).toString()));
    if (this.#options.fails && asked.prompt !== undefined && asked.max_tokens !== 2) {
      response.writeHead(429).end();
      return;
    }
    if (asked.return_token_ids && !this.#options.tokenIds) throw new Error('unknown field');
    if (asked.messages?.[0]?.content !== 'Count.' && asked.max_tokens !== 2) this.asked.push(asked);
    while (this.stopped) await setTimeout(10);
    const promptIds = this.#promptIds(asked);
    const { checkpoint, contextLength } = this.#engine;
    refuseTooLong(promptIds.length, asked.max_tokens, contextLength);
    const generation = await this.#engine.generate({
      promptIds,
      maxTokens: Math.min(asked.max_tokens ?? 400, contextLength - promptIds.length),
      endIds: checkpoint.eosTokenIds,
      stop: asked.stop,
      topLogprobs: asked.top_logprobs,
      sampling: { temperature: asked.temperature, topK: asked.top_k, topP: asked.top_p, seed: asked.seed },
    });
    this.running += 1;
    response.on('close', () => {
      this.running -= 1;
      if (!response.writableFinished) this.cancelled += 1;
      generation.cancel();
    });
    await this.#stream(response, asked, { chat, promptIds, generation });
  }

  #promptIds({ messages, prompt, tools, continue_final_message }: Body): number[] {
    const { tokenizer, chatTemplate } = this.#engine.checkpoint;
    if (typeof prompt === 'string') return tokenizer.encode(prompt);
    if (prompt) return prompt;
    if (!messages) throw new Error('no messages');
    const last = messages.at(-1);
    if (continue_final_message && !this.#options.continues) throw new Error('unknown field');
    const continued = continue_final_message && last?.role === 'assistant' ? last.content : null;
    const { system } = this.#options;
    const asked = [
      ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
      ...(continued === null ? messages : messages.slice(0, -1)),
    ];
    const variables = { ...(tools && { tools }) };
    const rendered = chatTemplate.render(asked, { addGenerationPrompt: true, variables });
    return tokenizer.encode(rendered + (continued ?? ''));
  }

  async #stream(
    response: ServerResponse,
    asked: Body,
    {
      chat,
      promptIds,
      generation,
    }: { readonly chat: boolean; readonly promptIds: number[]; readonly generation: Generation },
  ): Promise<void> {
    const { tokenIds, logprobs, deltaOf = (_, content) => ({ content }) } = this.#options;
    const tellsIds = tokenIds && asked.return_token_ids;
    const send = (choice: object | null, rest: object = {}): void => {
      const indices = choice ? Array.from({ length: asked.n }, (_, index) => index) : [];
      const choices = indices.map((index) => ({ index, finish_reason: null, ...choice }));
      response.write(`data: ${JSON.stringify({ choices, ...rest })}\n\n`);
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const prompt = tellsIds ? { prompt_token_ids: promptIds } : {};
    if (chat) send({ delta: { role: 'assistant', content: '' } }, prompt);
    let first = !chat;
    for (let index = 0; ; index++) {
      const item = await generation.next();
      while (this.stopped) await setTimeout(10);
      if (item.type === 'end') {
        const ended = item.reason === 'stop' && asked.stop.length === 0;
        const [end = 0] = this.#engine.checkpoint.eosTokenIds;
        const ids = tellsIds ? { token_ids: ended ? [end] : [] } : {};
        const text = this.#engine.checkpoint.tokenizer.tokenText(end);
        // The engine does not tell how probable it was.
        const last = { id: end, text, logprob: Math.log(0.9), topLogprobs: [] };
        const told = logprobs && ended && asked.logprobs !== undefined;
        send({
          ...(chat ? { delta: { content: '' } } : { text: '' }),
          ...(told && { logprobs: this.#logprobs(last, chat) }),
          finish_reason: item.reason,
          ...ids,
        });
        const usage = { prompt_tokens: promptIds.length, completion_tokens: item.tokens };
        send(null, { usage });
        response.end('data: [DONE]\n\n');
        return;
      }
      const told = logprobs && asked.logprobs !== undefined ? { logprobs: this.#logprobs(item, chat) } : {};
      const text = chat ? { delta: deltaOf(index, item.text) } : { text: item.text };
      const ids = tellsIds ? { token_ids: [item.id] } : {};
      send({ ...text, ...told, ...ids, ...(first && prompt) });
      first = false;
    }
  }

  #logprobs(
    { id, text, logprob, topLogprobs }: Pick<GeneratedToken, 'id' | 'text' | 'logprob' | 'topLogprobs'>,
    chat: boolean,
  ): object {
    const { tokenizer } = this.#engine.checkpoint;
    const entry = (token: string, of: number, value: number) => ({
      token,
      bytes: [...tokenizer.tokenBytes(of)],
      logprob: value,
    });
    const top = topLogprobs.map((other) => entry(tokenizer.tokenText(other.id), other.id, other.logprob));
    if (chat) return { content: [{ ...entry(text, id, logprob), top_logprobs: top }] };
    return {
      tokens: [text],
      token_logprobs: [logprob],
      top_logprobs: [Object.fromEntries(top.map((other) => [other.token, other.logprob]))],
    };
  }
}

class Refused extends Error {
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

function refuseTooLong(prompt: number, maxTokens: number | undefined, context: number): void {
  if (prompt >= context)
    throw new Refused('input_tokens', `the prompt contains ${prompt} tokens, of ${context}`);
  if (maxTokens !== undefined && maxTokens > context)
    throw new Refused(
      'max_tokens',
      `max_tokens=${maxTokens} cannot be greater than max_model_len=${context}`,
    );
}
