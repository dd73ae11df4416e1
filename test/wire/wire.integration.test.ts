import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { streamText } from 'ai';
import OpenAI from 'openai';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import { Engine } from '#src/index.js';
import { sseData } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { scriptedUpstream } from '../support/scripted-upstream.js';
import { upstreamGateway } from '../support/upstream-gateway.js';
import {
  CUTS,
  EXCHANGES,
  type Exchange,
  eventsOf,
  expectedText,
  requestOf,
  serverOf,
  textOf,
} from './exchange.js';

type Json = Readonly<Record<string, unknown>>;

const OFF = { guard: { enabled: false } };
const STREAMED = { stream: true, stream_options: { include_usage: true } };

/** Differences between an answer through flinch and the server's own, with the guard off. */
const INTENDED: readonly string[] = ['id', 'model', 'flinch'];

const withoutIntended = (object: object): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !INTENDED.includes(name)));

async function servers(exchange: Exchange, cut = CUTS['in one piece']!, scorer?: Scorer) {
  const upstream = await scriptedUpstream(serverOf(exchange, cut));
  const { url } = await upstreamGateway([upstream.url], { retries: 0 }, scorer && { scorer });
  return { url: `${url}/v1`, direct: upstream.url };
}

async function asked(url: string, exchange: Exchange, changes: Json): Promise<Response> {
  const response = await fetch(url + exchange.path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(requestOf(exchange, changes)),
  });
  expect(response.status, response.ok ? '' : await response.text()).toBe(200);
  return response;
}

const choices = z.array(
  z.looseObject({
    index: z.number(),
    delta: z.looseObject({ content: z.unknown().optional() }).optional(),
    text: z.string().optional(),
    finish_reason: z.string().nullish(),
  }),
);
const chunk = z.looseObject({ choices, error: z.never().optional() });

async function chunksOf(url: string, exchange: Exchange, changes: Json = {}) {
  const all: string[] = [];
  for await (const data of sseData(await asked(url, exchange, { ...STREAMED, ...changes }))) all.push(data);
  expect(all.pop()).toBe('[DONE]');
  return all.map((data) => chunk.parse(JSON.parse(data)));
}

/** What a client has in the end, of an answer that is not streamed. */
function expectAnswer(answer: Json, { expected: { choice, usage, fields } }: Exchange): void {
  const [first] = z.array(z.unknown()).parse(answer.choices);
  expect(first).toMatchObject({ index: 0, ...choice });
  expect(answer).toMatchObject({ ...fields, usage: usage ?? { prompt_tokens: null, total_tokens: null } });
}

function expectStream(chunks: Awaited<ReturnType<typeof chunksOf>>, exchange: Exchange): void {
  const first = chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === 0));
  expect(first.map(({ delta, text }) => textOf(delta?.content) + (text ?? '')).join('')).toBe(
    expectedText(exchange),
  );
  const { finish_reason } = first.findLast((choice) => choice.finish_reason) ?? {};
  expect(finish_reason).toBe(exchange.expected.choice.finish_reason);
}

describe.each(EXCHANGES)('$name', (exchange) => {
  const bodies = Object.entries(CUTS);

  it.each(bodies)('is passed on as it came, with the guard off, %s', async (_, cut) => {
    const { url } = await servers(exchange, cut);
    const chunks = await chunksOf(url, exchange, OFF);
    expect(chunks.map(withoutIntended)).toEqual(eventsOf(exchange).map(withoutIntended));
  });

  it.each(bodies)('is streamed with the guard on, %s', async (_, cut) => {
    const { url } = await servers(exchange, cut);
    const chunks = await chunksOf(url, exchange);
    expectStream(chunks, exchange);
  });

  it.each(bodies)('is joined to one answer, with the guard on, %s', async (_, cut) => {
    const { url } = await servers(exchange, cut);
    expectAnswer(await (await asked(url, exchange, {})).json(), exchange);
  });

  const { whole } = exchange;
  if (!whole) return;
  it('is asked for as one answer, with the guard off', async () => {
    const { url } = await servers(exchange);
    const answer = await (await asked(url, exchange, OFF)).json();
    expect(withoutIntended(answer)).toEqual(withoutIntended(whole));
  });
});

describe('with a scorer', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(REASONER);
  });
  afterAll(() => engine.close());

  it.each(EXCHANGES)('$name', async (exchange) => {
    const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
    const { url } = await servers(exchange, CUTS['in pieces of any size'], scorer);
    expectStream(await chunksOf(url, exchange), exchange);
    const answer: Json = await (await asked(url, exchange, {})).json();
    const { logprobs: _, ...choice } = exchange.expected.choice; // those of the scorer's tokens
    const [first] = z.array(z.unknown()).parse(answer.choices);
    expect(first).toMatchObject({ index: 0, ...choice });
  });
});

/** What a client makes of a stream; its error, where it cannot read it. */
const READERS: Readonly<Record<string, (baseURL: string, exchange: Exchange) => Promise<unknown>>> = {
  openai: async (baseURL, exchange) => {
    const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });
    const stream = client.chat.completions.stream(
      JSON.parse(JSON.stringify(requestOf(exchange, { ...OFF, ...STREAMED }))),
    );
    return withoutIntended(await stream.finalChatCompletion());
  },
  'AI SDK': async (baseURL) => {
    const model = createOpenAICompatible({
      name: 'any',
      baseURL,
      includeUsage: true,
      transformRequestBody: (body) => ({ ...body, ...OFF }),
    })('m');
    const errors: string[] = [];
    const answer = streamText({
      model,
      prompt: 'Say it.',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(String(error)),
    });
    const [text, reasoning, reason, calls] = await Promise.all([
      answer.text,
      answer.reasoningText,
      answer.finishReason,
      answer.toolCalls,
    ]);
    const finish = calls.some(({ invalid }) => invalid) ? 'error' : reason;
    return { errors: errors.length, text, reasoning, finish, calls };
  },
  LangChain: async (baseURL) => {
    const model = new ChatOpenAI({
      model: 'm',
      apiKey: 'none',
      maxRetries: 0,
      modelKwargs: OFF,
      configuration: { baseURL },
    });
    let all: AIMessageChunk | undefined;
    for await (const part of await model.stream('Say it.')) all = all ? all.concat(part) : part;
    return { content: all?.content, calls: all?.tool_calls, invalid: all?.invalid_tool_calls };
  },
};

const errors = z.union([z.looseObject({ error: z.string() }), z.looseObject({ finish: z.literal('error') })]);

describe.each(Object.entries(READERS))(
  'a client of %s reads through flinch what it reads directly',
  (_, read) => {
    const errorOf = (error: unknown) => ({ error: error instanceof Error ? error.message : error });
    const isError = (answer: unknown): boolean => errors.safeParse(answer).success;

    it.each(EXCHANGES.filter(({ api }) => api === 'chat'))('$name', async (exchange) => {
      const { url, direct } = await servers(exchange);
      const [there, here] = [direct, url].map((each) => read(each, exchange).catch(errorOf));
      // Some cannot read what flinch mends, such as events without data.
      if (!isError(await there)) expect(await here).toEqual(await there);
    });
  },
);
