import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai';
import {
  type FlinchDataPart,
  type FlinchMiddlewareOptions,
  flinchMetadata,
  flinchMiddleware,
} from 'flinch-ai-sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askedOf, CITY, OBJECT, openAiDouble } from '../../support/openai-double.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { answering } from '../../support/upstream-doubles.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';

type Model = ReturnType<ReturnType<typeof createOpenAICompatible>>;

const PROVIDERS = {
  'openai-compatible': (url: string): Model =>
    createOpenAICompatible({
      name: 'my-gateway',
      baseURL: `${url}/v1`,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })('m'),
  openai: (url: string): Model => createOpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).chat('m'),
};

const scored = (model: Model, options?: FlinchMiddlewareOptions): Model =>
  wrapLanguageModel({ model, middleware: flinchMiddleware(options) });

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 in ${city}`,
});
const schema = z.object({ city: z.string(), celsius: z.number() });

type Use = (model: Model) => Promise<unknown>;

const USES: Readonly<Record<string, Use>> = {
  'streamText, every part of the stream': async (model) => {
    const result = streamText({ model, prompt: 'Hello.', maxRetries: 0 });
    const parts: unknown[] = [];
    for await (const part of result.fullStream) parts.push(part);
    expect(await result.text).toBe('Hello there, Größe 漢字 😀!');
    return parts;
  },
  'streamText with tools': async (model) => {
    const result = streamText({
      model,
      prompt: 'What is the weather in both cities?',
      maxRetries: 0,
      tools: { weather },
      stopWhen: stepCountIs(3),
    });
    const parts: unknown[] = [];
    for await (const part of result.fullStream) parts.push(part);
    expect(await result.text).toBe('It is 21 degrees there.');
    expect(parts.filter((part) => JSON.stringify(part).includes('tool-result'))).toHaveLength(2);
    return parts;
  },
  'streamText with raw chunks, if they are asked for': async (model) => {
    const result = streamText({ model, prompt: 'Hello.', maxRetries: 0, includeRawChunks: true });
    const types: string[] = [];
    for await (const { type } of result.fullStream) types.push(type);
    expect(types).toContain('raw');
    return types;
  },
  generateText: async (model) => {
    const result = await generateText({
      model,
      prompt: `The weather in ${CITY}?`,
      tools: { weather },
      maxRetries: 0,
    });
    return { content: result.content, finishReason: result.finishReason, usage: result.usage };
  },
  generateObject: async (model) => {
    const { object, finishReason, usage } = await generateObject({
      model,
      schema,
      prompt: 'Fill it in.',
      maxRetries: 0,
    });
    expect(object).toEqual(OBJECT);
    return { object, finishReason, usage };
  },
};

/** Of a part or a result, without what is new in each request. */
const VOLATILE = new Set(['providerMetadata', 'timestamp', 'id', 'headers', 'request', 'response']);
function lasting(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lasting);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => (VOLATILE.has(name) ? [] : [[name, lasting(field)]])),
  );
}

describe.each(Object.entries(PROVIDERS))('flinchMiddleware with @ai-sdk/%s', (_, provider) => {
  it.each(Object.entries(USES))('changes nothing of %s', async (_, use) => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const without = lasting(await use(provider(url)));
    const sent = askedOf(upstream.requests);
    const before = sent.length;
    expect(lasting(await use(scored(provider(url))))).toEqual(without);
    expect(askedOf(upstream.requests).slice(before)).toEqual(sent);
  });

  it('tells the same of an answer that is streamed and of one that is not', async () => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const asked = { model: scored(provider(url)), prompt: 'Hello.', maxRetries: 0 };
    const streamed = flinchMetadata(await streamText(asked).providerMetadata);
    const { providerMetadata } = await generateText(asked);
    const whole = flinchMetadata(providerMetadata);
    expect(streamed?.tokens.map(({ text }) => text).join('')).toBe('Hello there, Größe 漢字 😀!');
    expect(streamed?.tokens.every(({ scores }) => scores?.nll !== undefined)).toBe(true);
    const seen = (answers: number) => ({ estimate: { answers, needed: 50 } });
    expect(whole?.guard).toMatchObject(seen(1));
    expect(streamed).toEqual({ ...whole, guard: { ...whole?.guard, ...seen(0) } });
    // The double's answers are the first that this gateway sees.
    expect(whole?.verdict).toMatchObject({ flagged: null, reason: 'too_few_answers' });
  });
});

describe('the guard of a request', () => {
  const asking = { prompt: 'Hello.', maxRetries: 0 };
  const guard = { rate: 0.1, methods: ['nll'] } as const;

  it('is sent, unless the call has its own', async () => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const model = scored(PROVIDERS['openai-compatible'](url), { guard });
    const inForce = async (own: object = {}) =>
      flinchMetadata((await generateText({ model, ...asking, ...own })).providerMetadata)?.guard;
    expect(await inForce()).toMatchObject(guard);
    for (const name of ['my-gateway', 'myGateway']) {
      const own = { providerOptions: { [name]: { guard: { rate: 0.2 } } } };
      expect(await inForce(own)).toMatchObject({ rate: 0.2, methods: ['nll', 'margin'] });
    }
    const { providerMetadata } = await streamText({ model, ...asking }).steps.then(([step]) => step!);
    expect(flinchMetadata(providerMetadata)?.guard).toMatchObject(guard);
  });

  it('that a provider does not send is an error', async () => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const model = scored(PROVIDERS.openai(url), { guard });
    const expected = /^guard: the provider "openai.chat" did not send it/;
    await expect(generateText({ model, ...asking })).rejects.toThrow(expected);
    const errors: unknown[] = [];
    const result = streamText({ model, ...asking, onError: ({ error }) => void errors.push(error) });
    await result.consumeStream();
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching(expected) })]);
  });

  it('that the gateway refuses is its error, by field', async () => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const model = scored(PROVIDERS['openai-compatible'](url), { guard: { rate: 7 } });
    await expect(generateText({ model, ...asking })).rejects.toThrow('guard.rate');
  });
});

/** Data parts of an answer, streamed and whole; what else comes of it may be an error. */
async function verdictsOf(url: string, options: FlinchMiddlewareOptions = {}): Promise<unknown[]> {
  const parts: FlinchDataPart[] = [];
  const onData = (part: FlinchDataPart) => void parts.push(part);
  const model = scored(PROVIDERS['openai-compatible'](url), { ...options, onData });
  const asked = { model, prompt: 'Hello.', maxRetries: 0 };
  await streamText({ ...asked, onError: () => {} }).consumeStream();
  await generateText(asked).catch(() => {});
  return parts.flatMap((part) => (part.type === 'data-flinch-verdict' ? [part.data] : []));
}

describe('an answer that was not judged is never one that passed', () => {
  const none = (reason: string) => ({ answer: expect.any(String), flagged: null, risk: null, reason });
  const piece = { choices: [{ index: 0, delta: { content: 'Hm' }, logprobs: null }] };

  it('whose tokens have no log-probabilities', async () => {
    const ending = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const upstream = await scriptedUpstream(answering((_, reply) => reply.head().last(piece, ending)));
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const unscored = { flagged: null, risk: null, reason: 'unscored_tokens', unscored_tokens: 1 };
    expect(await verdictsOf(url)).toEqual([
      expect.objectContaining(unscored),
      expect.objectContaining(unscored),
    ]);
  });

  it('that was cut in the middle', async () => {
    const upstream = await scriptedUpstream(answering((_, reply) => reply.head().data(piece).cut()));
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    expect(await verdictsOf(url)).toEqual([none('no_verdict')]);
  });
});
