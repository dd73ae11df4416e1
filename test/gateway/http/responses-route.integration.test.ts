import OpenAI from 'openai';
import type { Response as ModelResponse, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, post, useGateway } from '../../support/gateway.js';
import { kill } from '../../support/process.js';
import { QUESTION } from '../../support/requests.js';

const gateway = useGateway();
let client: OpenAI;
beforeAll(() => {
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

const request = { model: 'reasoner', input: QUESTION, temperature: 0, max_output_tokens: 60 };

const send = (fields: object) =>
  fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...request, ...fields }),
  });

const flinchOf = (value: object) => Reflect.get(value, 'flinch');

/** What is drawn anew for each. */
function lasting({ id, created_at, output, ...response }: ModelResponse): object {
  expect(id).toMatch(/^resp_/);
  return { ...response, output: output.map(({ id: _, ...item }) => item) };
}

async function eventsOf(fields: object = {}): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  const stream = await client.responses.create({ ...request, ...fields, stream: true });
  for await (const event of stream) events.push(event);
  return events;
}

describe('a response of a model that flinch runs', () => {
  it('has the text, the scores and the verdict of the chat with the same messages', async () => {
    const chat = await (await post(gateway.url, chatBody({ max_tokens: 60 }))).json();
    const response = await client.responses.create(request);
    expect(response.output_text).toBe(chat.choices[0].message.content);
    expect(flinchOf(response)).toEqual(chat.flinch);
    expect(flinchOf(response).tokens.length).toBeGreaterThan(20);
    expect(response).toMatchObject({
      ...{
        object: 'response',
        model: 'reasoner',
        status: 'completed',
        error: null,
        incomplete_details: null,
      },
      max_output_tokens: 60,
      temperature: 0,
      store: false,
      metadata: {},
      tools: [],
      output: [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text' }] },
      ],
      usage: {
        input_tokens: chat.usage.prompt_tokens,
        output_tokens: chat.usage.completion_tokens,
        total_tokens: chat.usage.total_tokens,
      },
    });
  });

  it.each([
    ['messages', { input: [{ role: 'user', content: QUESTION }] }, [{ role: 'user', content: QUESTION }]],
    [
      'parts, an earlier answer and instructions',
      {
        instructions: 'Be brief.',
        input: [
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Add.' }] },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Well' },
              { type: 'input_text', text: '?' },
            ],
          },
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Yes.', annotations: [], logprobs: [] }],
          },
          { role: 'user', content: QUESTION },
        ],
      },
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'Add.' },
        { role: 'user', content: 'Well?' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: QUESTION },
      ],
    ],
  ])('reads %s', async (_, fields, messages) => {
    const response = await (await send({ ...fields, max_output_tokens: 8 })).json();
    const chat = await (await post(gateway.url, chatBody({ messages, max_tokens: 8 }))).json();
    expect(response.error).toBeNull();
    expect(response.flinch).toEqual(chat.flinch);
    expect(response.usage.input_tokens).toBe(chat.usage.prompt_tokens);
  });

  it('streams the documented events, numbered', async () => {
    const events = await eventsOf({ max_output_tokens: 6 });
    const types = events.map(({ type }) => type);
    expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
      ...['response.created', 'response.in_progress'],
      ...['response.output_item.added', 'response.content_part.added'],
      'response.output_text.delta',
      ...['response.output_text.done', 'response.content_part.done', 'response.output_item.done'],
      'response.incomplete',
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
    const deltas = events.filter((event) => event.type === 'response.output_text.delta');
    const done = events.find((event) => event.type === 'response.output_text.done');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(done?.text);
    const last = events.at(-1);
    if (last?.type !== 'response.incomplete') throw new Error('no last event');
    expect(last.response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
    });
    const tokens: object[] = [];
    for (const token of deltas.flatMap((delta) => flinchOf(delta).tokens)) tokens[token.index] = token;
    // Scores of passes follow the text.
    expect(flinchOf(last.response).tokens).toMatchObject(
      tokens.map(({ pending: _, ...token }: { pending?: unknown }) => token),
    );
    for (const { scores } of flinchOf(last.response).tokens)
      expect(Object.keys(scores ?? {})).toContain('adversarial');
    expect(flinchOf(last.response).verdict).toMatchObject({ steps: 1 });
    expect(events[0]).toMatchObject({
      response: { status: 'in_progress', flinch: { guard: { enabled: true } } },
    });
  });

  it.each([
    ['guarded', {}],
    ['with the guard off', { guard: { enabled: false } }],
    [
      'with log-probabilities',
      { include: ['message.output_text.logprobs'], top_logprobs: 2, metadata: { a: 'b' } },
    ],
    [
      'stopped',
      { temperature: 1, input: 'What is (86 - 38) * 7 - 59 + 24?', guard: { action: 'stop', rate: 0.9 } },
    ],
  ])('is the same streamed and whole, %s', async (_, fields) => {
    const whole = await client.responses.create({ ...request, ...fields } as typeof request);
    const stream = client.responses.stream({ ...request, ...fields } as typeof request);
    const final = await stream.finalResponse();
    if ('temperature' in fields) {
      expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
      expect(final).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
      return;
    }
    const { output_parsed: _parsed, ...parsed } = final;
    expect(withoutParsed(lasting(parsed))).toEqual(lasting(whole));
    const events = await eventsOf(fields);
    const logprobs = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? event.logprobs : [],
    );
    const [item] = whole.output;
    const [part] = item?.type === 'message' ? item.content : [];
    expect(part).toMatchObject({ logprobs });
    expect(logprobs.length > 0).toBe('include' in fields);
    if ('metadata' in fields) expect(whole.metadata).toEqual(fields.metadata);
  });

  it('tells the verdict in headers', async () => {
    const response = await send({});
    const { flinch } = await response.json();
    expect(response.headers.get('x-flinch-flagged')).toBe(String(flinch.verdict.flagged ?? 'unknown'));
  });

  it('fails with an error and its last state', async () => {
    const events: ResponseStreamEvent[] = [];
    const stream = await client.responses.create({ ...request, stream: true });
    for await (const event of stream) {
      if (events.length === 5) kill(gateway.engine.status().decode.pid);
      events.push(event);
    }
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'engine_crashed', param: null, message: expect.any(String) },
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } },
    ]);
  });

  it('goes on after the last event that was read', async () => {
    const text = await (await send({ stream: true, resumable: true })).text();
    const all = text.split('\n\n').filter(Boolean);
    const last = /^id: (\S+)$/m.exec(all[5] ?? '')?.[1] ?? '';
    const [, id] = last.split('/');
    const rest = await fetch(`${gateway.url}/v1/responses/${id}`, { headers: { 'Last-Event-ID': last } });
    expect(await rest.text()).toBe(`${all.slice(6).join('\n\n')}\n\n`);
  });

  it.each([
    ['input', { input: undefined }],
    ['input', { input: [] }],
    ['input', { input: 7 }],
    ['input', { input: 'x'.repeat(200_000) }],
    ['input[0].type', { input: [{ type: 'function_call_output', call_id: 'c', output: 'o' }] }],
    ['input[0].role', { input: [{ role: 'tool', content: 'x' }] }],
    ['input[0].content', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }],
    ['instructions', { instructions: 7 }],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['max_output_tokens', { max_output_tokens: 100_000 }],
    ['temperature', { temperature: 3 }],
    ['include[0]', { include: ['file_search_call.results'] }],
    ['top_logprobs', { top_logprobs: 21 }],
    ['metadata', { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 'v'])) }],
    ['resumable', { resumable: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['tools', { tools: [{ type: 'web_search' }] }],
    ['text', { text: { format: { type: 'json_object' } } }],
    ['mood', { mood: 'good' }],
    ['guard.rate', { guard: { rate: 7 } }],
  ])('is refused for its %s (%o)', async (param, fields) => {
    const response = await send(fields);
    const { error } = await response.json();
    expect({ status: response.status, param: error.param }).toEqual({ status: 400, param });
  });
});

describe('the official openai client', () => {
  it('sends a response back as a part of the conversation', async () => {
    const first = await client.responses.create({ ...request, max_output_tokens: 20 });
    const input = [
      { role: 'user' as const, content: QUESTION },
      ...first.output.flatMap((item) => (item.type === 'message' ? [item] : [])),
    ];
    // The embedded model is told nothing from before the last question.
    const second = await client.responses.create({ ...request, input, max_output_tokens: 2 });
    expect(second.usage!.input_tokens).toBeGreaterThan(first.usage!.input_tokens + 20);
    expect(second.usage!.input_tokens_details.cached_tokens).toBe(48);
  });
});

/** What the client's helper adds. */
const withoutParsed = (value: object): unknown =>
  JSON.parse(JSON.stringify(value, (name, field) => (name === 'parsed' ? undefined : field)));
