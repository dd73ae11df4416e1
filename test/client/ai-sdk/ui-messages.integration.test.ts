import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  createUIMessageStream,
  generateText,
  readUIMessageStream,
  streamText,
  type UIMessage,
  wrapLanguageModel,
} from 'ai';
import { type FlinchDataParts, flinchMetadata, flinchMiddleware, type GuardRequest } from 'flinch-ai-sdk';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../../support/cli.js';
import { useGateway } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { GUESSED_QUESTION } from '../../support/requests.js';

const folder = useFolder();
/** Of the steps of its answers some have scores above three quarters of these ordinary ones, some below. */
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015));

type Message = UIMessage<unknown, FlinchDataParts>;

/** A message as a server streams it to a page, in each of its states. */
async function* messages(prompt: string, guard: GuardRequest): AsyncGenerator<Message> {
  const provider = createOpenAICompatible({ name: 'flinch', baseURL: `${gateway.url}/v1` });
  const stream = createUIMessageStream<Message>({
    execute: ({ writer }) => {
      const middleware = flinchMiddleware({ guard, onData: (part) => writer.write(part) });
      const model = wrapLanguageModel({ model: provider('reasoner'), middleware });
      const result = streamText({ model, prompt, temperature: 1, seed: 2, maxRetries: 0, onError: () => {} });
      writer.merge(result.toUIMessageStream());
    },
  });
  yield* readUIMessageStream<Message>({ stream, onError: () => {} });
}

const stepsOf = ({ parts }: Message) =>
  parts.flatMap((part) => (part.type === 'data-flinch-step' ? [part.data] : []));
const verdictsOf = ({ parts }: Message) =>
  parts.flatMap((part) => (part.type === 'data-flinch-verdict' ? [part.data] : []));

const textOf = ({ parts }: Message): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');

const rollback = {
  action: 'rollback',
  rate: 0.5,
  max_rollbacks: 3,
  candidates: 2,
} as const;
const QUESTION = 'What is 12 + 30 - 5? Explain each step.';

describe("OpenAI's responses", () => {
  it('have the same scores and verdict as chats, streamed or not', async () => {
    const openai = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none' });
    const asked = (model: ReturnType<typeof openai.chat>) => ({
      ...{
        model: wrapLanguageModel({ model, middleware: flinchMiddleware() }),
        prompt: QUESTION,
        temperature: 0,
      },
    });
    const chat = await generateText(asked(openai.chat('reasoner')));
    const response = await generateText(asked(openai.responses('reasoner')));
    const streamed = streamText(asked(openai.responses('reasoner')));
    const [expected, ...others] = [chat, response, { providerMetadata: await streamed.providerMetadata }].map(
      ({ providerMetadata }) => {
        const { guard, tokens, steps, verdict } = flinchMetadata(providerMetadata)!;
        const texts = tokens.map(({ text, scores }) => [text, scores !== undefined]);
        return {
          guard,
          texts,
          steps: steps.map(({ text, flagged }) => [text, flagged]),
          flagged: verdict.flagged,
        };
      },
    );
    expect(expected).toMatchObject({ flagged: expect.any(Boolean) });
    expect(others).toEqual([expected, expected]);
  });
});

/** Its steps add up to its text, some are flagged, and there is a verdict. */
function expectWhole(message: Message): void {
  const steps = stepsOf(message);
  expect(steps.length).toBeGreaterThan(1);
  expect(steps.map(({ text }) => text).join('')).toBe(textOf(message));
  for (const { text, tokens } of steps) expect(tokens.map((token) => token.text).join('')).toBe(text);
  expect(steps.some(({ flagged }) => flagged)).toBe(true);
  const verdicts = verdictsOf(message);
  expect(verdicts).toMatchObject([{ risk: expect.any(Number), reason: null, answer: steps[0]!.answer }]);
}

describe('the message that useChat has', () => {
  it('has all steps of the text, each while the rest is written', async () => {
    let first: string | null = null;
    let message: Message | null = null;
    for await (message of messages(GUESSED_QUESTION, rollback)) {
      if (stepsOf(message).length > 0) first ??= textOf(message);
    }
    expectWhole(message!);
    expect(textOf(message!).startsWith(first ?? '?')).toBe(true);
    expect(first?.length).toBeLessThan(textOf(message!).length);
    const replaced = stepsOf(message!).filter(({ struck }) => struck.length > 0);
    expect(replaced.length).toBeGreaterThan(0);
    for (const { struck, text } of replaced) {
      expect(struck).not.toContain(text);
      // What was taken back never was in the text.
      for (const gone of struck) expect(textOf(message!)).not.toContain(gone);
    }
  });
});
