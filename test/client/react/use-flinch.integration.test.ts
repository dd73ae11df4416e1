import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  createUIMessageStream,
  readUIMessageStream,
  smoothStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
  wrapLanguageModel,
} from 'ai';
import { type FlinchDataParts, flinchMiddleware } from 'flinch-ai-sdk';
import { type ScoredText, useFlinch } from 'flinch-react';
import { createElement, type ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { openAiDouble } from '../../support/openai-double.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';

type Message = UIMessage<unknown, FlinchDataParts>;

/** The texts of a message in each of its states. */
async function* states(url: string, options: object): AsyncGenerator<readonly ScoredText[]> {
  const gateway = createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1` });
  const stream = createUIMessageStream<Message>({
    execute: ({ writer }) => {
      const middleware = flinchMiddleware({ onData: (part) => writer.write(part) });
      const model = wrapLanguageModel({ model: gateway('m'), middleware });
      writer.merge(streamText({ model, prompt: 'Hello.', ...options }).toUIMessageStream());
    },
  });
  for await (const message of readUIMessageStream<Message>({ stream })) {
    let texts: readonly (ScoredText | null)[] = [];
    const Answer = (): ReactNode => {
      texts = useFlinch(message);
      return null;
    };
    renderToStaticMarkup(createElement(Answer));
    yield texts.filter((text) => text !== null);
  }
}

async function last<T>(all: AsyncIterable<T>): Promise<T | undefined> {
  let value: T | undefined;
  for await (value of all);
  return value;
}

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `21 in ${city}`,
});

it('finds the text after a tool call, with its own verdict', async () => {
  const upstream = await scriptedUpstream(openAiDouble());
  const { url } = await upstreamGateway([upstream.url], { retries: 0 });
  const texts = await last(states(url, { tools: { weather }, stopWhen: stepCountIs(3) }));
  expect(texts).toMatchObject([
    {
      text: 'It is 21 degrees there.',
      steps: [{ text: 'It is 21 degrees there.' }],
      // That of the call before has `unscored_parts`.
      verdict: { flagged: null, reason: 'too_few_answers' },
    },
  ]);
});

it('waits for a text that comes later than its scores', async () => {
  const upstream = await scriptedUpstream(openAiDouble());
  const { url } = await upstreamGateway([upstream.url], { retries: 0 });
  const lengths: number[] = [];
  for await (const [shown] of states(url, { experimental_transform: smoothStream({ delayInMs: 20 }) })) {
    if (!shown) continue;
    const settled = shown.steps.map(({ text }) => text).join('');
    expect(shown.text.startsWith(settled)).toBe(true);
    lengths.push(settled.length);
  }
  expect(lengths[0]).toBe(0);
  expect(lengths.at(-1)).toBe('Hello there, Größe 漢字 😀!'.length);
});
