import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import { sseData } from '../support/gateway.js';
import { startScriptedUpstream } from '../support/scripted-upstream.js';
import { sharedReasoner } from '../support/shared-engines.js';
import { startUpstreamGateway } from '../support/upstream-gateway.js';
import {
  EXCHANGES,
  type Exchange,
  eventsOf,
  expectedText,
  OFF,
  requestOf,
  STREAMED,
  serverOf,
  textOf,
} from './exchange.js';

type Json = Readonly<Record<string, unknown>>;

/** Differences between an answer through flinch and the server's own, with the guard off. */
const INTENDED: readonly string[] = ['id', 'model', 'flinch'];

const withoutIntended = (object: object): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !INTENDED.includes(name)));

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

/** A gateway before one server, which answers each request as its exchange says. */
async function start(scorer?: Scorer) {
  const upstream = await startScriptedUpstream(serverOf(EXCHANGES));
  const gateway = await startUpstreamGateway([upstream.url], { retries: 0 }, scorer && { scorer });
  const close = async (): Promise<void> => {
    await gateway.close();
    await upstream.close();
  };
  return { url: `${gateway.url}/v1`, close };
}

describe('without a scorer', () => {
  let gateway: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.close());

  it.each(EXCHANGES)('$name is passed on as it came, with the guard off', async (exchange) => {
    const chunks = await chunksOf(gateway.url, exchange, OFF);
    expect(chunks.map(withoutIntended)).toEqual(eventsOf(exchange).map(withoutIntended));
    if (!exchange.whole) return;
    const answer = await (await asked(gateway.url, exchange, OFF)).json();
    expect(withoutIntended(answer)).toEqual(withoutIntended(exchange.whole));
  });

  it.each(EXCHANGES)('$name is streamed and joined, with the guard on', async (exchange) => {
    expectStream(await chunksOf(gateway.url, exchange), exchange);
    expectAnswer(await (await asked(gateway.url, exchange, {})).json(), exchange);
  });
});

describe('with a scorer', () => {
  let gateway: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    gateway = await start(await Scorer.open(await sharedReasoner(), { logger: pino({ level: 'silent' }) }));
  });
  afterAll(() => gateway.close());

  // What was recorded was written by other models.
  it.each(EXCHANGES.filter(({ report }) => !report.startsWith('recorded')))('$name', async (exchange) => {
    expectStream(await chunksOf(gateway.url, exchange), exchange);
    const answer: Json = await (await asked(gateway.url, exchange, {})).json();
    const { logprobs: _, ...choice } = exchange.expected.choice; // those of the scorer's tokens
    const [first] = z.array(z.unknown()).parse(answer.choices);
    expect(first).toMatchObject({ index: 0, ...choice });
  });
});
