import { ChatOpenAI } from '@langchain/openai';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PeerServer, PeerServerName } from '#lab/peers/server.js';
import { needsServer, startServer } from '../support/peers.js';
import { upstreamGateway } from '../support/upstream-gateway.js';

// Tools and structured output of real servers, by unmodified clients, directly and through flinch.

const SERVERS: readonly (readonly [PeerServerName, readonly string[]])[] = [
  ['llama-cpp', ['--threads', '1', '--jinja']],
  ['vllm', ['--enable-auto-tool-choice', '--tool-call-parser', 'hermes']],
];

const PERSON = z.object({ name: z.string(), age: z.number() });
const MESSAGES = [{ role: 'user' as const, content: 'Ann is 31 years old and lives in Bern.' }];
const TOOLS = [
  {
    type: 'function' as const,
    function: {
      name: 'remember',
      description: 'Remembers a person.',
      parameters: {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: 'integer' } },
        required: ['name', 'age'],
      },
    },
  },
];
const FORCED = { type: 'function' as const, function: { name: 'remember' } };
const GREEDY = { messages: MESSAGES, temperature: 0, max_tokens: 64, seed: 1 };

/** What does not depend on when and by whom it was written. */
const said = ({ choices, usage }: OpenAI.ChatCompletion) => ({
  usage: usage && [usage.prompt_tokens, usage.completion_tokens],
  choices: choices.map(({ finish_reason, message: { role, content, tool_calls } }) => ({
    // vLLM sends an empty text beside a call, only where the answer is whole.
    finish_reason,
    role,
    content: content || null,
    calls: tool_calls?.map((call) => call.type === 'function' && call.function),
  })),
});

const USES: Readonly<Record<string, (client: OpenAI, model: string) => Promise<unknown>>> = {
  'a forced tool call': async (client, model) =>
    said(await client.chat.completions.create({ ...GREEDY, model, tools: TOOLS, tool_choice: FORCED })),
  'a forced tool call, streamed': async (client, model) => {
    const stream = await client.chat.completions.create({
      ...GREEDY,
      model,
      tools: TOOLS,
      tool_choice: FORCED,
      stream: true as const,
      stream_options: { include_usage: true },
    });
    return said(
      await ChatCompletionStream.fromReadableStream(stream.toReadableStream()).finalChatCompletion(),
    );
  },
  'a structured answer': async (client, model) => {
    const response_format = zodResponseFormat(PERSON, 'person');
    const { choices } = await client.chat.completions.parse({ ...GREEDY, model, response_format });
    return PERSON.parse(choices[0]!.message.parsed);
  },
  'a structured answer of LangChain': async ({ baseURL }, model) => {
    const { temperature, seed, max_tokens: maxTokens } = GREEDY;
    const chat = new ChatOpenAI({
      model,
      temperature,
      maxTokens,
      apiKey: 'none',
      configuration: { baseURL },
      modelKwargs: { seed },
    });
    return chat.withStructuredOutput(PERSON, { name: 'person', method: 'jsonSchema' }).invoke(MESSAGES);
  },
};

describe.each(SERVERS)('clients of %s', (name, args) => {
  const { missing, reason } = needsServer(name, 'smollm2');
  let server: PeerServer;
  beforeAll(async () => {
    if (!missing) server = await startServer(name, 'smollm2', args);
  }, 900_000);
  afterAll(() => server?.close());

  const through = (baseURL: string) => new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 });

  test.skipIf(missing).for(Object.entries(USES))(`have the same of flinch: %s${reason}`, async ([, use]) => {
    const upstreams = [{ url: server.url, model: 'smollm2' }];
    const { url } = await upstreamGateway([server.url], { upstreams });
    const direct = await use(through(server.url), 'smollm2');
    expect(await use(through(`${url}/v1`), 'm')).toEqual(direct);
  });
});
