import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { concat } from '@langchain/core/utils/stream';
import { ChatOpenAI } from '@langchain/openai';
import { ChatFlinch, type ChatFlinchFields, flinchOf } from 'flinch-langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatBody, post, useGateway } from '../../support/gateway.js';
import { CITY, OBJECT, openAiDouble } from '../../support/openai-double.js';
import { kill } from '../../support/process.js';
import { QUESTION } from '../../support/requests.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { answering } from '../../support/upstream-doubles.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';

const gateway = useGateway();
const GUARD = { rate: 0.5 } as const;
const chat = (fields: Partial<ChatFlinchFields> = {}) =>
  new ChatFlinch({
    url: gateway.url,
    model: 'reasoner',
    temperature: 0,
    maxTokens: 60,
    maxRetries: 0,
    guard: GUARD,
    ...fields,
  });

const completion = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  flinch: z.object({
    verdict: z.looseObject({}),
    tokens: z.array(z.unknown()),
    flagged: z.array(z.unknown()),
  }),
});

/** The same from the gateway itself. */
async function direct() {
  const response = await post(gateway.url, chatBody({ max_tokens: 60, guard: GUARD }));
  const { choices, flinch } = completion.parse(await response.json());
  return { text: choices[0].message.content, flinch };
}

/** Custom events, by name. */
const listening = () => {
  const heard: [name: string, data: unknown][] = [];
  const handleCustomEvent = (name: string, data: unknown): void => {
    heard.push([name, data]);
  };
  return { heard, callbacks: [{ handleCustomEvent }] };
};

const named = (heard: readonly (readonly [string, unknown])[], name: string) =>
  heard.flatMap(([each, data]) => (each === name ? [data] : []));

describe('ChatFlinch', () => {
  it('has what flinch says in response_metadata, and tells it as custom events', async () => {
    const { text, flinch } = await direct();
    const { heard, callbacks } = listening();
    const message = await chat().invoke(QUESTION, { callbacks });
    expect(message.text).toBe(text);
    expect(flinchOf(message)).toMatchObject(flinch);
    expect(flinch.flagged).not.toEqual([]);
    expect(named(heard, 'flinch.step.flagged')).toEqual(flinch.flagged);
    expect(named(heard, 'flinch.verdict')).toEqual([flinch.verdict]);
    expect(message.additional_kwargs).not.toHaveProperty('__raw_response');
  });

  it('has the same of a stream, whose chunks add up to the text', async () => {
    const { text, flinch } = await direct();
    const { heard, callbacks } = listening();
    let message: AIMessageChunk | undefined;
    for await (const chunk of await chat().stream(QUESTION, { callbacks })) {
      expect(chunk.additional_kwargs).not.toHaveProperty('__raw_response');
      message = message ? concat(message, chunk) : chunk;
    }
    expect(message?.text).toBe(text);
    expect(message && flinchOf(message)).toMatchObject(flinch);
    const scored = z
      .array(z.looseObject({ pending: z.array(z.string()).optional() }))
      .parse(named(heard, 'flinch.score.delta'));
    expect(scored.filter(({ pending }) => !pending)).toEqual(flinch.tokens);
    expect(named(heard, 'flinch.step.flagged')).toEqual(flinch.flagged);
    expect(named(heard, 'flinch.verdict')).toEqual([flinch.verdict]);
  });

  it('has the same of streamEvents', async () => {
    const { text, flinch } = await direct();
    const custom: [string, unknown][] = [];
    let streamed = '';
    for await (const { event, name, data } of chat().streamEvents(QUESTION, { version: 'v2' })) {
      if (event === 'on_custom_event') custom.push([name, data]);
      if (event === 'on_chat_model_stream') streamed += data.chunk.text;
    }
    expect(streamed).toBe(text);
    expect(named(custom, 'flinch.step.flagged')).toEqual(flinch.flagged);
    expect(named(custom, 'flinch.verdict')).toEqual([flinch.verdict]);
    const message = await chat().streamEvents(QUESTION);
    expect(message.text).toBe(text);
    expect(flinchOf(message)).toMatchObject(flinch);
  });

  it('fails where scoring fails', async () => {
    const { heard, callbacks } = listening();
    const reading = async (): Promise<void> => {
      const guard = { ...GUARD, methods: ['adversarial', 'nll'] } as const;
      for await (const chunk of await chat({ guard }).stream(QUESTION, { callbacks })) {
        if (chunk.text !== '') kill(gateway.engine.status().score.pid);
      }
    };
    await expect(reading()).rejects.toThrow('score process');
    expect(named(heard, 'flinch.verdict')).toEqual([]);
    await expect.poll(() => gateway.engine.status().score.device).toBeDefined();
  });
});

describe('an answer that was not judged is never one that passed', () => {
  const none = (reason: string) => ({ flagged: null, risk: null, reason });

  /** In the message and told, of a whole answer and of a stream. */
  async function expectVerdicts(fields: Partial<ChatFlinchFields>, verdict: object): Promise<void> {
    const { heard, callbacks } = listening();
    const model = chat(fields);
    expect(flinchOf(await model.invoke('Hello.', { callbacks }))?.verdict).toEqual(verdict);
    let last: AIMessageChunk | undefined;
    for await (const chunk of await model.stream('Hello.', { callbacks })) last = chunk;
    expect(last && flinchOf(last)?.verdict).toEqual(verdict);
    expect(named(heard, 'flinch.verdict')).toEqual([verdict, verdict]);
  }
  const at = async (script: Script) => (await scriptedUpstream(script)).url.replace(/\/v1$/, '');

  it('of which flinch said what cannot be read', async () => {
    const flinch = { tokens: [], verdict: { flagged: false } };
    const choice = { index: 0, finish_reason: 'stop' };
    const url = await at(
      answering(({ json }, reply) => {
        const message = { role: 'assistant', content: 'Hm' };
        if (!json.stream) reply.json(200, { choices: [{ ...choice, message }], flinch });
        else {
          const chunk = { choices: [{ ...choice, delta: message }], flinch };
          reply.head().last(chunk);
        }
      }),
    );
    await expectVerdicts({ url }, none('protocol_error'));
  });
});

describe('tools and structured answers', () => {
  const weather = tool(({ city }) => `21 in ${city}`, {
    name: 'weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.string() }),
  });
  const question = [new HumanMessage('What is the weather in both cities?')];

  it('are those of ChatOpenAI', async () => {
    const upstream = await scriptedUpstream(openAiDouble());
    const { url } = await upstreamGateway([upstream.url], { retries: 0 });
    const openAi = new ChatOpenAI({ model: 'm', apiKey: 'none', configuration: { baseURL: `${url}/v1` } });
    const ours = new ChatFlinch({ model: 'm', url });
    const called = await ours.bindTools([weather]).invoke(question);
    expect(called.tool_calls).toEqual((await openAi.bindTools([weather]).invoke(question)).tool_calls);
    expect(called.tool_calls?.[0]).toMatchObject({ name: 'weather', args: { city: CITY } });
    expect(flinchOf(called)?.verdict).toMatchObject({ flagged: null });
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await ours.bindTools([weather]).stream(question)) {
      streamed = streamed ? concat(streamed, chunk) : chunk;
    }
    expect(streamed?.tool_calls).toEqual(called.tool_calls);
    expect(streamed && flinchOf(streamed)?.verdict).toMatchObject({ flagged: null });

    const schema = z.object({ city: z.string(), celsius: z.number() });
    const structured = ours.withStructuredOutput(schema, {
      name: 'weather',
      method: 'jsonSchema',
      includeRaw: true,
    });
    const { raw, parsed } = await structured.invoke('Fill it in.');
    expect(parsed).toEqual(OBJECT);
    expect(flinchOf(raw)?.verdict).toMatchObject({ flagged: null });
  });
});
