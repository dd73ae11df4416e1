import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { startUpstreamGateway, type UpstreamGateway } from '../support/upstream-gateway.js';
import { MENDED, plain, told } from './compared.js';
import { EXCHANGES, type Exchange, OFF, requestOf, STREAMED, serverOf } from './exchange.js';

// Clients read through flinch what they read directly, whole and streamed, with the guard off and on.

type Json = Readonly<Record<string, unknown>>;

interface Asked {
  readonly baseURL: string;
  readonly exchange: Exchange;
  /** Fields of the request that set the guard. */
  readonly guard: Json;
}

const openAi = ({ baseURL }: Asked) => new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });

const aiSdk = ({ baseURL, exchange, guard }: Asked) => ({
  model: createOpenAICompatible({
    name: 'any',
    baseURL,
    includeUsage: true,
    transformRequestBody: (body) => ({ ...body, ...guard, user: exchange.name }),
  })('m'),
  prompt: 'Say it.',
  maxRetries: 0,
});

const langChain = ({ baseURL, exchange, guard }: Asked) =>
  new ChatOpenAI({
    model: 'm',
    apiKey: 'none',
    maxRetries: 0,
    configuration: { baseURL },
    modelKwargs: { ...guard, user: exchange.name },
  });

const messageOf = ({ content, tool_calls, invalid_tool_calls, additional_kwargs }: AIMessageChunk) =>
  plain({ content, tool_calls, invalid_tool_calls, additional_kwargs });

/** What a client makes of an answer; it fails where it cannot read it. */
const STREAMS: Readonly<Record<string, (asked: Asked) => Promise<unknown>>> = {
  openai: async (asked) => {
    const body = JSON.parse(JSON.stringify(requestOf(asked.exchange, { ...asked.guard, ...STREAMED })));
    return plain(await openAi(asked).chat.completions.stream(body).finalChatCompletion());
  },
  'AI SDK': async (asked) => {
    let failed: unknown = null;
    const answer = streamText({
      ...aiSdk(asked),
      onError: ({ error }) => {
        failed = error;
      },
    });
    const [text, reasoning, finish, calls] = await Promise.all([
      ...([answer.text, answer.reasoningText, answer.finishReason, answer.toolCalls] as const),
    ]);
    if (failed) throw failed;
    const sent = JSON.stringify(asked.exchange.stream);
    // It makes ids of its own for calls that have none.
    const named = calls.map((call) => (sent.includes(call.toolCallId) ? call : { ...call, toolCallId: '' }));
    return plain({ text, reasoning, finish, calls: named });
  },
  LangChain: async (asked) => {
    let all: AIMessageChunk | undefined;
    for await (const part of await langChain(asked).stream('Say it.')) all = all ? all.concat(part) : part;
    return all && messageOf(all);
  },
};

const WHOLES: typeof STREAMS = {
  openai: async (asked) => {
    const body = JSON.parse(JSON.stringify(requestOf(asked.exchange, asked.guard)));
    return plain(await openAi(asked).chat.completions.create(body));
  },
  'AI SDK': async (asked) => {
    const { text, reasoningText, finishReason, toolCalls } = await generateText(aiSdk(asked));
    return plain({ text, reasoningText, finishReason, toolCalls });
  },
  LangChain: async (asked) => messageOf(await langChain(asked).invoke('Say it.')),
};

const CHATS = EXCHANGES.filter(({ api }) => api === 'chat');

let upstream: ScriptedUpstream;
let gateway: UpstreamGateway & { close(): Promise<void> };
beforeAll(async () => {
  upstream = await startScriptedUpstream(serverOf(EXCHANGES));
  gateway = await startUpstreamGateway([upstream.url], { retries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

describe.each([
  ['a stream', STREAMS, CHATS],
  ['a whole answer', WHOLES, CHATS.filter(({ whole }) => whole)],
] as const)('%s', (_, readers, exchanges) => {
  describe.each(Object.entries(readers))('%s', (_, read) => {
    it.each(exchanges)('$name', async (exchange) => {
      const there = await read({ baseURL: upstream.url, exchange, guard: {} }).catch(() => null);
      if (there === null) return; // some cannot read what flinch mends, such as events without data
      const baseURL = `${gateway.url}/v1`;
      expect(await read({ baseURL, exchange, guard: OFF })).toEqual(there);
      const guarded = await read({ baseURL, exchange, guard: {} });
      if (!MENDED.has(exchange.name)) expect(guarded).toMatchObject(Object(told(there)));
    });
  });
});
