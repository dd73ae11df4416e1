import { describe, expect, it } from 'vitest';
import { TestSocket } from '../../support/gateway.js';
import type { RequestBody } from '../../support/scripted-upstream.js';
import {
  ANSWER,
  isProbe,
  llamaCppDouble,
  mute,
  ollamaDouble,
  vllmDouble,
} from '../../support/upstream-doubles.js';
import { body, gatewayBefore, streamed } from '../../support/upstream-gateway.js';

const TEXT = ANSWER.join('');
const SURE = 0.9;

const asked = ({ messages = [] }: RequestBody): string =>
  messages.findLast(({ role }) => role === 'user')?.content ?? '';

/** A text that has begun: whatever continues it is sure, and says something else. */
const continues = (request: RequestBody): boolean =>
  request.messages?.at(-1)?.role === 'assistant' || request.prompt !== undefined;

/**
 * A model that is unsure of the second step of its answer to "Doubt.", and only of that. What it says otherwise is as
 * long: the double finds its place in a text by its length.
 */
const doubtful = {
  probability: (index: number, request: RequestBody): number =>
    asked(request) === 'Doubt.' && !continues(request) && index >= 5 && index < 10 ? 0.2 : SURE,
  vary: (token: string, _: number, request: RequestBody): string =>
    continues(request) && token === ' not' ? ' yes' : token,
};

const GUARD = { methods: ['nll'], rate: 0.1 };

/** Has enough ordinary steps scored for risks to be told, and asks what the model doubts. */
async function afterOrdinary(url: string, guard: object, changes: object = {}) {
  for (let i = 0; i < 17; i++) await streamed(url, { guard: GUARD });
  const socket = await TestSocket.open(url);
  const { stream: _, ...create } = body({ messages: [{ role: 'user', content: 'Doubt.' }], ...changes });
  socket.send({ type: 'generation.create', ...create, guard: { ...GUARD, ...guard } });
  await socket.event(({ type }) => type === 'generation.done' || type === 'error');
  socket.close();
  return socket.events;
}

/** The text as it stands. */
function textOf(events: readonly { readonly type: string; readonly [field: string]: unknown }[]): string {
  const tokens: string[] = [];
  for (const { type, index, from, text } of events) {
    if (type === 'token.delta' && typeof index === 'number') tokens[index] = String(text);
    if (type === 'token.retracted' && typeof from === 'number') tokens.length = from;
  }
  return tokens.join('');
}

describe('without a scorer the response says what is computed', () => {
  it('by default what log-probabilities allow, as they are defined', async () => {
    const { url } = await gatewayBefore(vllmDouble());
    const { chunks, text, done } = await streamed(url);
    expect({ text, done }).toEqual({ text: TEXT, done: true });
    const guard = chunks[0]!.flinch!.guard!;
    expect(guard).toMatchObject({
      enabled: true,
      methods: ['nll', 'margin'],
      method: 'nll',
      calibrated: false,
      estimate: { answers: 0, needed: 50 },
    });
    expect((await streamed(url)).chunks[0]!.flinch!.guard!.estimate).toEqual({ answers: 1, needed: 50 });
    expect(guard.warnings).toEqual([
      expect.stringContaining('entropy: not computed'),
      expect.stringContaining('calibrated'),
    ]);
    const scored = chunks.flatMap(({ flinch }) => flinch?.tokens ?? []).filter(({ scores }) => scores);
    expect(scored).toHaveLength(ANSWER.length);
    for (const { scores } of scored) {
      expect(scores!.nll).toBeCloseTo(-Math.log(0.8), 12);
      expect(scores!.margin).toBeCloseTo(1 - (0.8 - 0.2), 12);
    }
  });

  it.each(['adversarial', 'entropy', 'random', 'tokur_eu'])('%s is refused by its name', async (method) => {
    const { url } = await gatewayBefore(vllmDouble());
    const { status, error } = await streamed(url, { guard: { methods: ['nll', method] } });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_value', param: 'guard.methods' });
    expect(error!.message).toContain(method);
  });

  it('a rate of answers is refused: there is no calibration', async () => {
    const { url } = await gatewayBefore(vllmDouble());
    const { status, error } = await streamed(url, { guard: { per: 'answer' } });
    expect({ status, param: error?.param }).toEqual({ status: 400, param: 'guard.per' });
  });

  it('nothing where the server tells no log-probabilities: no scores, no verdicts, and a warning', async () => {
    const { url } = await gatewayBefore(mute);
    const { chunks, text, done } = await streamed(url);
    expect({ text, done }).toEqual({ text: 'Yes', done: true });
    const guard = chunks[0]!.flinch!.guard!;
    expect(guard).toMatchObject({ enabled: false, methods: [] });
    expect(guard.warnings).toEqual([expect.stringContaining('nothing is scored')]);
    expect(chunks.flatMap(({ flinch }) => flinch?.events ?? [])).toEqual([]);
    expect(JSON.stringify(chunks)).not.toContain('scores');
    expect(chunks.at(-1)?.flinch?.verdict).toMatchObject({
      flagged: null,
      risk: null,
      unscored_tokens: 1,
      calibrated: false,
      reason: 'unscored_tokens',
    });
  });

  it.each([
    [{ methods: ['nll'] }, 'guard.methods'],
    [{ method: 'nll' }, 'guard.methods'],
    [{ action: 'stop' }, 'guard.action'],
  ])('and what is asked for all the same is refused: %j', async (guard, param) => {
    const { url } = await gatewayBefore(mute);
    expect(await streamed(url, { guard })).toMatchObject({ status: 400, error: { param } });
  });

  it('with the guard off, nothing is asked about it', async () => {
    const { url } = await gatewayBefore(mute);
    const { chunks, done } = await streamed(url, { guard: { enabled: false } });
    expect(done).toBe(true);
    expect(chunks[0]!.flinch!.guard).not.toHaveProperty('warnings');
    expect(JSON.stringify(chunks)).not.toContain('verdict');
  });

  it('all steps of an ordinary answer are judged', async () => {
    const { url } = await gatewayBefore(ollamaDouble());
    const { chunks } = await streamed(url);
    const steps = chunks.flatMap(({ flinch }) => flinch?.events ?? []);
    expect(steps.map(({ type, text, flagged }) => [type, text, flagged])).toEqual([
      ['step.done', 'First it is so.\n', false],
      ['step.done', 'Then it is not.\n', false],
      ['step.done', 'Done.', false],
    ]);
  });
});

describe('what the guard does about a doubtful step', () => {
  it('annotate', async () => {
    const { url } = await gatewayBefore(ollamaDouble(doubtful));
    const events = await afterOrdinary(url, {});
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({ step: 1, action: 'annotate' });
    expect(events.filter(({ type }) => type === 'step.done').map(({ flagged }) => flagged)).toEqual([
      false,
      true,
      false,
    ]);
    expect(textOf(events)).toBe(TEXT);
  });

  it('stop', async () => {
    const { url } = await gatewayBefore(ollamaDouble(doubtful));
    const events = await afterOrdinary(url, { action: 'stop', delivery: 'held' });
    expect(events.at(-1)).toMatchObject({ type: 'generation.done', finish_reason: 'content_filter' });
    expect(textOf(events)).toBe(ANSWER.slice(0, 5).join(''));
  });

  it.each([
    // vLLM counts the token that ends the answer, too.
    ['vLLM, by the ids of the tokens', vllmDouble, '/v1/completions', ANSWER.length + 1],
    ['llama.cpp, by the text', llamaCppDouble, '/v1/chat/completions', ANSWER.length],
  ])('rollback through %s', async (_, double, path, tokens) => {
    const { url, upstream } = await gatewayBefore(double(doubtful));
    const events = await afterOrdinary(
      url,
      { action: 'rollback', candidates: 2 },
      { seed: 5, max_tokens: 40 },
    );
    const done = events.find(({ type }) => type === 'rollback.done');
    expect(done).toMatchObject({
      step: 1,
      outcome: 'replaced',
      candidates: [
        { text: 'Then it is not.\n' },
        { text: 'Then it is yes.\n', tokens: 5 },
        { text: 'Then it is yes.\n', tokens: 5 },
      ],
    });
    expect(textOf(events)).toBe(TEXT.replace(' not', ' yes'));
    expect(events.at(-1)).toMatchObject({
      finish_reason: 'stop',
      usage: { completion_tokens: tokens },
    });
    const continuations = upstream.requests.filter((request) => !isProbe(request) && continues(request.body));
    expect(continuations.map((request) => request.path)).toEqual([path, path, path]);
    expect(new Set(continuations.map(({ body }) => body.seed)).size).toBe(3);
    expect(continuations.map(({ body }) => body.max_tokens)).toEqual([35, 35, 30]);
  });

  it('a candidate that cannot be scored is the last choice', async () => {
    const double = llamaCppDouble(doubtful);
    const { url } = await gatewayBefore((request, reply) => {
      const untold = !isProbe(request) && continues(request.body);
      return double(untold ? { ...request, body: { ...request.body, logprobs: false } } : request, reply);
    });
    const events = await afterOrdinary(url, { action: 'rollback', candidates: 1 });
    expect(events.find(({ type }) => type === 'rollback.done')).toMatchObject({
      outcome: 'kept',
      chosen: 0,
      candidates: [{ score: expect.any(Number) }, { text: 'Then it is yes.\n', score: null }],
    });
    expect(textOf(events)).toBe(TEXT);
  });

  it.each<[string, 200 | 400 | 429, number[], string, number]>([
    ['both candidates', 429, [0, 1], 'kept', 1],
    ['one of them', 429, [1], 'replaced', 2],
    ['one of them, which it refuses', 400, [1], 'replaced', 2],
    ['what follows the chosen one', 429, [2], 'kept', 3],
    ['both candidates, which it cuts off', 200, [0, 1], 'kept', 1],
  ])('rollback does without what the server does not write: %s', async (...of) => {
    const [, status, refused, outcome, candidates] = of;
    const double = vllmDouble(doubtful);
    let continuations = 0;
    const { url, log } = await gatewayBefore((request, reply) => {
      if (isProbe(request) || !continues(request.body)) return double(request, reply);
      if (!refused.includes(continuations++)) return double(request, reply);
      if (status !== 200) return reply.json(status, {});
      reply.head().data({ choices: [{ index: 0, text: 'Then', finish_reason: null }] });
      reply.end();
    });
    const events = await afterOrdinary(url, { action: 'rollback', candidates: 2 });
    const done = events.find(({ type }) => type === 'rollback.done');
    expect(done).toMatchObject({ outcome, ...(outcome === 'kept' && { chosen: 0 }) });
    expect(done!.candidates).toHaveLength(candidates);
    expect(textOf(events)).toBe(outcome === 'kept' ? TEXT : TEXT.replace(' not', ' yes'));
    expect(events.at(-1)).toMatchObject({ type: 'generation.done', finish_reason: 'stop' });
    const codes = { 200: 'upstream_error', 400: 'upstream_refused', 429: 'upstream_overloaded' };
    const code = codes[status];
    expect(log.filter((line) => line.includes(code))).toHaveLength(refused.length);
  });

  it('rollback is not done after reasoning that is no part of the text', async () => {
    const { url, upstream } = await gatewayBefore(vllmDouble({ ...doubtful, reasoning: 'Hm.' }));
    const events = await afterOrdinary(url, { action: 'rollback' });
    expect(events.find(({ type }) => type === 'step.flagged')).toMatchObject({ action: 'annotate' });
    expect(textOf(events)).toBe(TEXT);
    expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
    expect(upstream.requests.some((request) => !isProbe(request) && continues(request.body))).toBe(false);
  });

  it('rollback is refused by its name where the server continues nothing', async () => {
    const { url } = await gatewayBefore(ollamaDouble());
    const { status, error } = await streamed(url, { guard: { action: 'rollback' } });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_value', param: 'guard.action' });
    expect(error!.message).toContain('continue');
  });
});

describe('what is passed on', () => {
  it('fields of a request that the server knows', async () => {
    const { url, upstream } = await gatewayBefore(vllmDouble());
    const asked = {
      temperature: 0.5,
      top_p: 0.9,
      top_k: 7,
      seed: 3,
      stop: '!',
      max_completion_tokens: 4,
      user: 'me',
      metadata: { a: 'b' },
      min_p: 0.1,
      frequency_penalty: 0.5,
      logit_bias: { 7: -1 },
      chat_template_kwargs: { enable_thinking: false },
      nobody: { knows: ['this'] },
    };
    await streamed(url, asked);
    expect(upstream.requests.at(-1)!.body).toEqual({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Say it.' }],
      ...asked,
      logprobs: true,
      top_logprobs: 2,
      return_token_ids: true,
    });
  });

  it.each([{}, { guard: { enabled: false } }])(
    'values beyond the limits of models that flinch runs, %j',
    async (changes) => {
      const { url, upstream } = await gatewayBefore(vllmDouble());
      const asked = {
        temperature: 2.5,
        top_p: 0,
        top_k: -1,
        max_tokens: -1,
        stop: ['a', 'b', 'c', 'd', 'e', 'f'],
      };
      for (const stream of [true, false]) {
        await streamed(url, { ...asked, ...changes, stream });
        expect(upstream.requests.at(-1)!.json).toMatchObject(asked);
      }
    },
  );

  it('more alternatives than the probe asked for, with the guard off: the server says what it refuses', async () => {
    const { url, upstream } = await gatewayBefore(vllmDouble({ mostLogprobs: 50 }));
    const asked = { logprobs: true, top_logprobs: 25, max_tokens: 3, guard: { enabled: false } };
    const { status, done } = await streamed(url, asked);
    expect({ status, done }).toEqual({ status: 200, done: true });
    expect(upstream.requests.at(-1)!.json).toMatchObject({ logprobs: true, top_logprobs: 25 });
  });

  it('no more tokens than were asked for, though the server writes more', async () => {
    const double = vllmDouble();
    const { url } = await gatewayBefore((request, reply) => {
      const { max_tokens: _, ...rest } = request.body;
      return double(isProbe(request) ? request : { ...request, body: rest }, reply);
    });
    const { text, chunks, done } = await streamed(url, { max_tokens: 3 });
    expect({ text, done }).toEqual({ text: ANSWER.slice(0, 3).join(''), done: true });
    expect(chunks.some(({ choices }) => choices?.[0]?.finish_reason === 'length')).toBe(true);
  });
});
