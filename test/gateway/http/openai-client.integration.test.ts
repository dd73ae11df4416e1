import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { useGateway } from '../../support/gateway.js';
import { kill } from '../../support/process.js';
import { QUESTION } from '../../support/requests.js';

const gateway = useGateway();
let client: OpenAI;
beforeAll(() => {
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

const request = {
  model: 'reasoner',
  temperature: 0,
  messages: [{ role: 'user' as const, content: QUESTION }],
};

describe('the official openai client', () => {
  it('reads a whole completion', async () => {
    const completion = await client.chat.completions.create({ ...request, logprobs: true, top_logprobs: 3 });
    expect(completion.choices[0]?.message.content).toMatch(/89\.$/);
    expect(completion.choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(3);
    expect(completion.usage?.prompt_tokens).toBe(60);
  });

  it('sends a response back as part of the conversation', async () => {
    const first = await client.chat.completions.create({ ...request, max_tokens: 20 });
    const reply = first.choices[0]!.message;
    // The embedded model is told nothing from before the last question.
    const messages = [...request.messages, reply];
    const second = await client.chat.completions.create({ ...request, messages, max_tokens: 2 });
    expect(second.usage!.prompt_tokens).toBeGreaterThan(first.usage!.prompt_tokens + 20);
    // The 60 tokens of the first prompt, in whole blocks of 16.
    expect(second.usage!.prompt_tokens_details).toEqual({ cached_tokens: 48 });
  });

  it('reassembles it with its stream helper', async () => {
    const stream = client.chat.completions.stream(request);
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toMatch(/89\.$/);
    expect(final.choices[0]?.finish_reason).toBe('stop');
  });

  it('sees its own error classes', async () => {
    await expect(client.chat.completions.create({ ...request, model: 'gpt-5' })).rejects.toThrow(
      NotFoundError,
    );
    await expect(client.chat.completions.create({ ...request, model: 'gpt-5' })).rejects.toMatchObject({
      code: 'model_not_found',
      param: 'model',
    });
    await expect(client.chat.completions.create({ ...request, temperature: 9 })).rejects.toThrow(
      BadRequestError,
    );
  });

  it('is told of a failure in mid-stream', async () => {
    const stream = await client.chat.completions.create({ ...request, stream: true });
    const read = async () => {
      for await (const _ of stream) kill(gateway.engine.status().decode.pid);
    };
    await expect(read()).rejects.toThrow();
  });

  it('lists the models', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(['reasoner']);
    expect((await client.models.retrieve('reasoner')).object).toBe('model');
    await expect(client.models.retrieve('other')).rejects.toThrow(NotFoundError);
  });
});
