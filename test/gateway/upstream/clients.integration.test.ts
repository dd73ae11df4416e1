import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage, type ToolMessage } from '@langchain/core/messages';
import { tool as langChainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateObject, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askedOf, CITY, comparable, OBJECT, openAiDouble } from '../../support/openai-double.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';

/** Where a client is pointed to, and what it sends with. */
interface Server {
  readonly baseURL: string;
  readonly fetch: typeof fetch;
}

/** Uses an unmodified client once, as its documentation does, and returns what it makes of the answers. */
type Use = (server: Server) => Promise<unknown>;

const MODEL = 'm';
const WEATHER = { city: z.string().describe('The name of the city.') };
const OBJECT_SCHEMA = z.object({ city: z.string(), celsius: z.number() });
const IMAGE = `data:image/png;base64,${Buffer.from('no real image').toString('base64')}`;
const ONE = `What is the weather in ${CITY}?`;
const BOTH = 'What is the weather in both cities?';

type Question = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>;

const asking = (content: string, fields: Partial<Question> = {}): Question => ({
  messages: [{ role: 'user', content }],
  ...fields,
});

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather of a city.',
      strict: true,
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

const called = {
  id: 'call_before',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Bern"}' },
} as const;

/** Each with what a client may send beside it. */
const QUESTIONS: Readonly<Record<string, Question>> = {
  'a text': asking('Hello.', {
    temperature: 0.5,
    frequency_penalty: 0.1,
    logit_bias: { 5: -1 },
    user: 'one',
    metadata: { a: 'b' },
  }),
  'log-probabilities': asking('Hello.', {
    logprobs: true,
    top_logprobs: 2,
    max_completion_tokens: 50,
    store: false,
  }),
  'a tool call': asking(ONE, { tools, tool_choice: 'auto', parallel_tool_calls: true }),
  'parallel tool calls': asking(BOTH, { tools, tool_choice: 'required', seed: 3 }),
  'a tool message': {
    tools,
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: ONE, name: 'ann' },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: called.id, content: [{ type: 'text', text: '21' }] },
    ],
  },
  'structured output': asking('Fill it in.', {
    response_format: zodResponseFormat(OBJECT_SCHEMA, 'weather'),
  }),
  'an image': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: IMAGE, detail: 'low' } },
        ],
      },
    ],
  },
  'audio and a file': {
    modalities: ['text'],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
          { type: 'text', text: 'Hello.' },
        ],
      },
    ],
  },
  'functions as they were before tools': {
    functions: [{ name: 'weather', parameters: { type: 'object', properties: {} } }],
    function_call: 'auto',
    messages: [
      { role: 'user', content: ONE },
      { role: 'assistant', content: null, function_call: called.function },
      { role: 'function', name: 'weather', content: '21' },
    ],
  },
  reasoning: asking('What is 2 + 2?', { reasoning_effort: 'high', verbosity: 'low' }),
  'three choices': asking('Name one.', { n: 3, presence_penalty: -0.5 }),
  'three choices with log-probabilities': asking('Name one.', { n: 3, logprobs: true }),
  'a refusal': asking('Please refuse.', { logprobs: true }),
  'a filtered answer': asking('Please filter.', { service_tier: 'auto', safety_identifier: 'x' }),
  'an unknown field': asking('Hello.', { x_field: { deep: [null, { y: '' }] }, stop: 'END' } as object),
};

const openai = (server: Server): OpenAI => new OpenAI({ ...server, apiKey: 'none', maxRetries: 0 });

/** Put together by the client's own code. */
const assembled = async (client: OpenAI, question: Question): Promise<unknown> => {
  const chunks = await client.chat.completions.create({
    model: MODEL,
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  });
  return ChatCompletionStream.fromReadableStream(chunks.toReadableStream()).finalChatCompletion();
};

const OPENAI: Readonly<Record<string, Use>> = {
  ...Object.fromEntries(
    Object.entries(QUESTIONS).flatMap(([name, question]): [string, Use][] => [
      [`create, ${name}`, (server) => openai(server).chat.completions.create({ model: MODEL, ...question })],
      [`create with stream: true, ${name}`, (server) => assembled(openai(server), question)],
    ]),
  ),
  'the stream helper, a tool call': async (server) => {
    const done: unknown[] = [];
    const stream = openai(server)
      .chat.completions.stream({ model: MODEL, ...asking(BOTH, { tools }), stream: true })
      .on('tool_calls.function.arguments.done', (call) => done.push(call))
      .on('content.done', (content) => done.push(content));
    return { final: await stream.finalChatCompletion(), done };
  },
  'the stream helper, a refusal': async (server) => {
    const done: unknown[] = [];
    const stream = openai(server)
      .chat.completions.stream({
        model: MODEL,
        ...asking('Please refuse.', { logprobs: true }),
        stream: true,
      })
      .on('refusal.done', (refusal) => done.push(refusal))
      .on('logprobs.refusal.done', (logprobs) => done.push(logprobs));
    return { final: await stream.finalChatCompletion(), done };
  },
  'parse with zod': async (server) => {
    const completion = await openai(server).chat.completions.parse({
      model: MODEL,
      ...asking('Fill it in.'),
      response_format: zodResponseFormat(OBJECT_SCHEMA, 'weather'),
    });
    expect(completion.choices[0]?.message.parsed).toEqual(OBJECT);
    return completion;
  },
  'parse with a zod function': async (server) => {
    const completion = await openai(server).chat.completions.parse({
      model: MODEL,
      ...asking(ONE),
      tools: [zodFunction({ name: 'weather', parameters: z.object(WEATHER) })],
    });
    expect(completion.choices[0]?.message.tool_calls?.[0]?.function.parsed_arguments).toEqual({ city: CITY });
    return completion;
  },
  ...Object.fromEntries(
    [false, true].map((stream): [string, Use] => [
      `runTools${stream ? ', streamed' : ''}`,
      async (server) => {
        const asked: unknown[] = [];
        const weather = {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city.',
            strict: true,
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: JSON.parse,
            function: (given: unknown) => {
              asked.push(given);
              return '21';
            },
          },
        } as const;
        const { completions } = openai(server).chat;
        const question = { model: MODEL, messages: asking(BOTH).messages, tools: [weather] };
        const runner = stream
          ? completions.runTools({ ...question, stream })
          : completions.runTools(question);
        const content = await runner.finalContent();
        expect(asked).toHaveLength(2);
        return { content, messages: runner.messages, usage: await runner.totalUsage() };
      },
    ]),
  ),
};

const aiSdk = ({ baseURL, fetch }: Server) =>
  createOpenAICompatible({
    name: 'double',
    baseURL,
    apiKey: 'none',
    fetch,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })(MODEL);

const AI_SDK: Readonly<Record<string, Use>> = {
  'streamText with tools': async (server) => {
    const parts: unknown[] = [];
    const result = streamText({
      model: aiSdk(server),
      prompt: BOTH,
      maxRetries: 0,
      stopWhen: stepCountIs(3),
      tools: {
        weather: tool({
          description: 'The weather of a city.',
          inputSchema: z.object(WEATHER),
          execute: async ({ city }) => `21 in ${city}`,
        }),
      },
    });
    for await (const { type, ...part } of result.fullStream) {
      if (type === 'tool-call' || type === 'tool-result' || type === 'error') parts.push({ type, ...part });
    }
    const { messages } = await result.response;
    expect(await result.text).toBe('It is 21 degrees there.');
    return { parts, messages, usage: await result.totalUsage, reason: await result.finishReason };
  },
  'streamText with reasoning': async (server) => {
    const result = streamText({
      model: aiSdk(server),
      prompt: 'What is 2 + 2?',
      maxRetries: 0,
      providerOptions: { double: { reasoningEffort: 'high' } },
    });
    const [text, reasoning] = [await result.text, await result.reasoningText];
    expect(reasoning).toBe('Two and two make four.');
    return { text, reasoning, usage: await result.usage, reason: await result.finishReason };
  },
  generateObject: async (server) => {
    const { object, usage, finishReason } = await generateObject({
      model: aiSdk(server),
      schema: OBJECT_SCHEMA,
      prompt: 'Fill it in.',
      maxRetries: 0,
    });
    expect(object).toEqual(OBJECT);
    return { object, usage, finishReason };
  },
};

const langChain = ({ baseURL, fetch }: Server): ChatOpenAI =>
  new ChatOpenAI({ ...{ model: MODEL, apiKey: 'none', maxRetries: 0 }, configuration: { baseURL, fetch } });

const weather = langChainTool(async ({ city }) => `21 in ${city}`, {
  name: 'weather',
  description: 'The weather of a city.',
  schema: z.object(WEATHER),
});

const LANG_CHAIN: Readonly<Record<string, Use>> = {
  'bindTools, and the answer to its results': async (server) => {
    const model = langChain(server).bindTools([weather]);
    const question = new HumanMessage(BOTH);
    const first = await model.invoke([question]);
    expect(first.tool_calls).toHaveLength(2);
    const results: ToolMessage[] = [];
    for (const call of first.tool_calls ?? [])
      results.push(await weather.invoke({ ...call, type: 'tool_call' }));
    const second = await model.invoke([question, first, ...results]);
    expect(second.text).toBe('It is 21 degrees there.');
    return [first.toDict(), second.toDict()];
  },
  'bindTools, streamed': async (server) => {
    let whole: Awaited<ReturnType<ChatOpenAI['invoke']>> | null = null;
    for await (const chunk of await langChain(server).bindTools([weather]).stream(BOTH)) {
      whole = whole ? whole.concat(chunk) : chunk;
    }
    expect(whole?.tool_calls).toHaveLength(2);
    return whole?.toDict();
  },
  ...Object.fromEntries(
    (['jsonSchema', 'functionCalling'] as const).map((method): [string, Use] => [
      `withStructuredOutput, ${method}`,
      async (server) => {
        const schema = method === 'jsonSchema' ? OBJECT_SCHEMA : z.object(WEATHER);
        const model = langChain(server).withStructuredOutput(schema, { method, name: 'weather' });
        const object = await model.invoke('Fill it in.');
        expect(object).toMatchObject({ city: CITY });
        return object;
      },
    ]),
  ),
  callbacks: async (server) => {
    const heard: unknown[] = [];
    const stream = await langChain(server).stream('Hello.', {
      callbacks: [
        {
          handleLLMNewToken: (token) => void heard.push(token),
          handleLLMEnd: ({ generations }) => void heard.push(generations[0]?.[0]?.text),
        },
      ],
    });
    for await (const _ of stream);
    expect(heard.length).toBeGreaterThan(4);
    // Tokens without text come with what is beside the text.
    return heard.filter((token) => token !== '');
  },
};

/** Fields of a request that flinch sets itself. */
const OWNED: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', 'logprobs', 'top_logprobs']);

const others = (body: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !OWNED.has(name)));

/** Adds what an operator's policy would say. */
const without: typeof fetch = (url, init) => {
  const body = JSON.parse(String(init?.body));
  return fetch(url, { ...init, body: JSON.stringify({ ...body, guard: { enabled: false } }) });
};

describe.each([
  ['the guard on', fetch],
  ['the guard off', without],
])('unmodified clients see through flinch what they see without it, %s', (_, fetchThrough) => {
  describe.each([
    ['openai', OPENAI],
    ['AI SDK', AI_SDK],
    ['LangChain', LANG_CHAIN],
  ])('%s', (_, uses) => {
    it.each(Object.entries(uses))('%s', async (_, use) => {
      const upstream = await scriptedUpstream(openAiDouble());
      const direct = await use({ baseURL: upstream.url, fetch });
      const sent = askedOf(upstream.requests).map(others);
      const gateway = await upstreamGateway([upstream.url], { retries: 0 });
      const before = askedOf(upstream.requests).length;
      const through = await use({ baseURL: `${gateway.url}/v1`, fetch: fetchThrough });
      expect(comparable(through)).toEqual(comparable(direct));
      expect(askedOf(upstream.requests).slice(before).map(others)).toEqual(sent);
    });
  });
});
