import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  chatBody,
  mergeTokens,
  post,
  readChunks,
  sseData,
  token,
  useGateway,
} from '../../support/gateway.js';
import { kill } from '../../support/process.js';
import { LONG_QUESTION, QUESTION } from '../../support/requests.js';

const gateway = useGateway();
const METHODS = ['adversarial', 'nll', 'entropy', 'margin'];

const streamed = async (changes: object = {}) =>
  readChunks(await post(gateway.url, chatBody({ stream: true, ...changes })));
const whole = async (changes: object = {}) =>
  completion.parse(await (await post(gateway.url, chatBody(changes))).json());

const tokenLogprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.number()) });
const completion = z.object({
  object: z.literal('chat.completion'),
  choices: z.tuple([
    z.object({
      message: z.object({ role: z.literal('assistant'), content: z.string() }),
      logprobs: z
        .object({ content: z.array(tokenLogprob.extend({ top_logprobs: z.array(tokenLogprob) })) })
        .nullable(),
      finish_reason: z.string(),
    }),
  ]),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number(), total_tokens: z.number() }),
  flinch: z.object({ tokens: z.array(z.unknown()) }),
});
const refusal = z.object({
  error: z.object({ type: z.string(), param: z.string().nullable(), code: z.string(), message: z.string() }),
});

describe('a streamed completion', () => {
  it('is what OpenAI sends: role, text, finish reason, [DONE]', async () => {
    const { chunks, done } = await streamed();
    expect(done).toBe(true);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toMatch(/89\.$/);
    const last = chunks.filter(({ choices }) => choices[0]?.finish_reason);
    expect(last.map(({ choices }) => choices[0]?.finish_reason)).toEqual(['stop']);
    expect(chunks.filter(({ flinch }) => flinch?.verdict)).toEqual(last);
    // Only scores of passes follow.
    const after = chunks.slice(chunks.indexOf(last[0]!) + 1);
    expect(after.flatMap(({ choices }) => choices.map(({ delta }) => delta))).toEqual(after.map(() => ({})));
    for (const { flinch } of after)
      expect(Object.keys(flinch?.tokens[0]?.scores ?? {})).toContain('adversarial');
  });

  it('carries for every token its id and log-probability, later its scores and rival', async () => {
    const { chunks } = await streamed({ guard: { methods: METHODS } });
    const tokens = mergeTokens(chunks);
    expect(tokens.map(({ index }) => index)).toEqual(tokens.map((_, i) => i));
    for (const token of tokens) {
      expect(Object.keys(token.scores ?? {})).toEqual(METHODS);
      expect(token.scores?.nll).toBeCloseTo(-token.logprob, 4);
      expect(token.rival?.id).not.toBe(token.id);
    }
    expect(tokens.map(({ text }) => text).join('')).toBe(
      chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
    );
  });

  it('scores a token at most one block later if a score of a pass judges', async () => {
    const { chunks } = await streamed({ guard: { method: 'adversarial', scoring: { block: 4 } } });
    let written = -1;
    for (const { flinch } of chunks) {
      for (const { index, scores } of flinch?.tokens ?? []) {
        if (scores) expect(written - index).toBeLessThanOrEqual(4);
        else written = index;
      }
    }
  });

  it('ends with the usage when asked, and says it at no other place', async () => {
    const { chunks } = await streamed({ stream_options: { include_usage: true }, max_tokens: 5 });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 60, completion_tokens: 5, total_tokens: 65 },
    });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect((await streamed({ max_tokens: 5 })).chunks.every(({ usage }) => usage === undefined)).toBe(true);
  });

  it('writes the same with the guard off, without scores', async () => {
    const [on, off] = [await streamed(), await streamed({ guard: { enabled: false } })];
    const plain = mergeTokens(on.chunks).map(({ index, id, text, logprob }) => ({
      index,
      id,
      text,
      logprob,
    }));
    expect(mergeTokens(off.chunks)).toEqual(plain);
  });
});

describe('a whole completion', () => {
  it('is the streamed one in one piece, scores included', async () => {
    const { choices, usage, flinch } = await whole();
    const tokens = mergeTokens((await streamed()).chunks);
    expect(choices[0]).toMatchObject({ logprobs: null, finish_reason: 'stop' });
    expect(usage.completion_tokens).toBe(tokens.length);
    expect(choices[0].message.content).toBe(tokens.map(({ text }) => text).join(''));
    expect(z.array(token).parse(flinch.tokens)).toEqual(tokens);
  });

  it('has the verdict of the streamed one, also in headers', async () => {
    const { chunks } = await streamed();
    const verdict = chunks.find(({ flinch }) => flinch?.verdict)?.flinch?.verdict;
    expect(verdict).toMatchObject({ rate: 0.02, unscored_tokens: 0 });
    const response = await post(gateway.url, chatBody());
    expect(await response.json()).toMatchObject({ flinch: { verdict } });
    expect(response.headers.get('x-flinch-flagged')).toBe(String(verdict?.flagged ?? 'unknown'));
    expect(response.headers.get('x-flinch-advice')).toBe(String(verdict?.advice ?? 'unknown'));
    expect(response.headers.get('x-flinch-risk')).toBe(verdict?.risk == null ? null : String(verdict.risk));
    const unguarded = await post(gateway.url, chatBody({ guard: { enabled: false } }));
    expect(unguarded.headers.get('x-flinch-flagged')).toBe('unknown');
    expect(unguarded.headers.get('x-flinch-advice')).toBe('unknown');
    expect(unguarded.headers.get('x-flinch-risk')).toBeNull();
    expect(await unguarded.json()).not.toHaveProperty('flinch.verdict');
  });

  it('gives logprobs as OpenAI has them', async () => {
    const { choices } = await whole({ logprobs: true, top_logprobs: 2, max_tokens: 3 });
    const content = choices[0].logprobs?.content ?? [];
    expect(content).toHaveLength(3);
    expect(content[0]).toMatchObject({
      token: 'First',
      bytes: [70, 105, 114, 115, 116],
      top_logprobs: [{ token: 'First' }, {}],
    });
    expect(content[0]?.top_logprobs[0]?.logprob).toBe(content[0]?.logprob);
  });

  it('draws the same for the same seed', async () => {
    const draw = async (seed: number) =>
      (await whole({ temperature: 1.5, seed, guard: { enabled: false } })).choices[0].message.content;
    expect(await draw(7)).toBe(await draw(7));
    expect(await draw(8)).not.toBe(await draw(7));
  });

  it('stops before a stop string', async () => {
    const { choices } = await whole({ stop: ' = 75' });
    expect(choices[0].message.content).toMatch(/8 \+ 67$/);
    expect(choices[0].finish_reason).toBe('stop');
  });

  it('takes content in parts and the developer role', async () => {
    const parts = [{ role: 'user', content: [{ type: 'text', text: QUESTION }] }];
    expect((await whole({ messages: parts })).choices).toEqual((await whole()).choices);
    const system = 'You are a helpful assistant.';
    const developer = [
      { role: 'developer', content: system },
      { role: 'user', content: QUESTION },
    ];
    expect((await whole({ messages: developer })).usage).toEqual((await whole()).usage);
  });
});

describe('a bad request', () => {
  const message = { role: 'user', content: 'x' };
  const refusals: [name: string, changes: object, param: string, code: string, status?: number][] = [
    ['an unknown model', { model: 'gpt-5' }, 'model', 'model_not_found', 404],
    ['no messages', { messages: [] }, 'messages', 'invalid_value'],
    ['messages of a wrong type', { messages: 'hi' }, 'messages', 'invalid_value'],
    [
      'content of a wrong type',
      { messages: [message, { role: 'user', content: 5 }] },
      'messages[1].content',
      'invalid_value',
    ],
    [
      'an unknown role',
      { messages: [{ role: 'wizard', content: 'x' }] },
      'messages[0].role',
      'invalid_value',
    ],
    ['a negative temperature', { temperature: -1 }, 'temperature', 'invalid_value'],
    ['a temperature that is text', { temperature: 'hot' }, 'temperature', 'invalid_value'],
    ['top_p of 0', { top_p: 0 }, 'top_p', 'invalid_value'],
    ['max_tokens of 0', { max_tokens: 0 }, 'max_tokens', 'invalid_value'],
    ['huge max_tokens', { max_tokens: 1e9 }, 'max_tokens', 'context_length_exceeded'],
    [
      'max_completion_tokens that is fractional',
      { max_completion_tokens: 1.5 },
      'max_completion_tokens',
      'invalid_value',
    ],
    ['a seed beyond exact integers', { seed: 1e300 }, 'seed', 'invalid_value'],
    ['an empty stop string', { stop: [''] }, 'stop', 'invalid_value'],
    ['too many stop strings', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', 'invalid_value'],
    ['top_logprobs without logprobs', { top_logprobs: 3 }, 'top_logprobs', 'invalid_value'],
    ['top_logprobs above 20', { logprobs: true, top_logprobs: 21 }, 'top_logprobs', 'invalid_value'],
    ['several choices', { n: 2 }, 'n', 'unsupported_parameter'],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools', 'unsupported_parameter'],
    [
      'stream_options without stream',
      { stream_options: { include_usage: true } },
      'stream_options',
      'invalid_value',
    ],
    ['an unknown field', { temprature: 1 }, 'temprature', 'unknown_parameter'],
    ['an unknown field of guard', { guard: { blok: 8 } }, 'guard.blok', 'unknown_parameter'],
    ['guard of a wrong type', { guard: 'on' }, 'guard', 'invalid_value'],
    ['resumable without stream', { resumable: true }, 'resumable', 'invalid_value'],
    ['a stop of a wrong type', { stop: [3] }, 'stop', 'invalid_value'],
    [
      'a prompt that cannot possibly fit',
      { messages: [{ role: 'user', content: '7'.repeat(500_000) }] },
      'messages',
      'context_length_exceeded',
    ],
    [
      'a prompt longer than the context',
      { messages: [{ role: 'user', content: 'stone '.repeat(600) }] },
      'messages',
      'context_length_exceeded',
    ],
  ];

  it.each(refusals)('%s is refused by name', async (_name, changes, param, code, status = 400) => {
    for (const stream of [false, true]) {
      if (stream && ['stream_options', 'resumable'].includes(param)) continue;
      const response = await post(gateway.url, chatBody({ stream, ...changes }));
      expect(response.status).toBe(status);
      const { error } = refusal.parse(await response.json());
      expect(error).toMatchObject({ type: 'invalid_request_error', param, code });
      expect(error.message).toContain(param);
    }
    expect(gateway.engine.status().streams).toBe(0);
  });
});

describe('a stream that is cut', () => {
  const endless = (changes: object = {}) =>
    chatBody({ stream: true, messages: [{ role: 'user', content: LONG_QUESTION }], ...changes });

  it('by a client that stops reading for a while: it waits, and nothing is lost', async () => {
    // Little to compute, and much to send.
    const wordy = { ...endless(), logprobs: true, top_logprobs: 20, guard: { methods: ['nll'] } };
    const socketPath = await gateway.unixPath();
    const headers = { 'Content-Type': 'application/json' };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { socketPath, path: '/v1/chat/completions', method: 'POST', headers };
      const posted = httpRequest(options, resolve).on('error', reject);
      posted.end(JSON.stringify(wordy));
    });
    // By then it would be over, too, if nothing held it.
    await (await post(gateway.url, wordy)).text();
    expect(gateway.engine.status().streams).toBe(1);
    const text = await readText(response);
    expect(text.match(/"scores"/g)?.length).toBeGreaterThan(200);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('by the client: the generation is cancelled', async () => {
    const controller = new AbortController();
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(endless()),
      signal: controller.signal,
    });
    await sseData(response).next();
    expect(gateway.engine.status().streams).toBe(1);
    controller.abort();
    await gateway.idle();
  });

  it.each(['decode', 'score'] as const)(
    'by the death of the %s process: an error event, no [DONE]',
    async (role) => {
      const response = await post(gateway.url, endless({ guard: { methods: METHODS } }));
      const events: string[] = [];
      for await (const data of sseData(response)) {
        events.push(data);
        if (events.length === 4) kill(gateway.engine.status()[role].pid);
      }
      expect(JSON.parse(events.at(-1)!)).toMatchObject({
        error: { type: 'server_error', code: 'engine_crashed' },
      });
      await gateway.idle();
      expect((await streamed()).done).toBe(true);
    },
  );

  it('before its first byte: an error response', async () => {
    const posted = post(
      gateway.url,
      chatBody({ messages: [{ role: 'user', content: 'stone '.repeat(100) }] }),
    );
    while (gateway.engine.status().streams === 0) await setTimeout(1);
    kill(gateway.engine.status().decode.pid);
    const response = await posted;
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: 'engine_crashed' } });
  });
});

describe('more streams than the engine admits', () => {
  it('are refused with 503 and Retry-After', async () => {
    const controller = new AbortController();
    const busy = Array.from({ length: 16 }, () =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(
          chatBody({ stream: true, messages: [{ role: 'user', content: LONG_QUESTION }] }),
        ),
        signal: controller.signal,
      }),
    );
    await Promise.all(busy.slice(0, 1));
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => post(gateway.url, chatBody({ max_tokens: 1 }))),
    );
    controller.abort();
    await Promise.allSettled(busy);
    const refused = responses.filter(({ status }) => status === 503);
    for (const response of refused) {
      expect(response.headers.get('Retry-After')).toBe('1');
      expect(await response.json()).toMatchObject({ error: { code: 'overloaded', type: 'server_error' } });
    }
    expect(refused.length).toBeGreaterThan(0);
    await gateway.idle();
  });
});
