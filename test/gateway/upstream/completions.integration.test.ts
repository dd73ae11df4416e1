import OpenAI from 'openai';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { EngineModel, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import { type Engine, encodePrompt } from '#src/index.js';
import { EngineUpstream } from '../../support/engine-upstream.js';
import { QUESTION } from '../../support/requests.js';
import { type RequestBody, type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { sharedReasoner } from '../../support/shared-engines.js';
import { ANSWER, llamaCppDouble, ollamaDouble, vllmDouble } from '../../support/upstream-doubles.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const TEXT = ANSWER.join('');
/** After which the doubles write their answer. */
const PROMPT = '<|assistant|>';
const ASSISTANT = 2;

async function serving(script: Script, changes: object = {}, config: object = {}) {
  const upstream = await scriptedUpstream(script);
  const gateway = await upstreamGateway(
    [],
    { upstreams: [{ url: upstream.url, model: 'theirs' }], ...changes },
    {},
    config,
  );
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
  /** Beside the probe's. */
  const asked = () =>
    upstream.requests
      .filter(({ path, json }) => path === '/v1/completions' && json.max_tokens !== 2)
      .map(({ json }) => json);
  return { ...gateway, client, asked };
}

const post = async (url: string, body: object) => {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', prompt: PROMPT, ...body }),
  });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
};

describe('completions of a prompt by an upstream', () => {
  it('are asked for as they came, save the fields that are set', async () => {
    const { client, asked } = await serving(vllmDouble());
    const request = {
      prompt: PROMPT,
      max_tokens: 30,
      temperature: 0.5,
      logit_bias: { 5: -1 },
      user: 'one',
      frequency_penalty: 0.1,
      min_tokens: 1,
      x_field: { deep: [null, ''] },
    };
    await client.completions.create({ model: 'm', ...request });
    expect(asked()).toEqual([
      {
        ...request,
        model: 'theirs',
        stream: true,
        stream_options: { include_usage: true },
        logprobs: 2,
        return_token_ids: true,
      },
    ]);
  });

  it('are asked for as they came altogether with the guard off, and come back so', async () => {
    const { url, asked } = await serving(vllmDouble());
    const { body } = await post(url, { max_tokens: 30, logprobs: 1, guard: { enabled: false } });
    expect(asked()).toEqual([
      {
        prompt: PROMPT,
        max_tokens: 30,
        logprobs: 1,
        model: 'theirs',
        stream: false,
      },
    ]);
    expect(body).toMatchObject({
      object: 'text_completion',
      model: 'm',
      choices: [{ index: 0, text: TEXT, finish_reason: 'stop', logprobs: { tokens: expect.any(Array) } }],
      flinch: { guard: { enabled: false }, tokens: [] },
    });
    expect(body.choices[0]).not.toHaveProperty('message');
  });

  it.each([
    ['vLLM', vllmDouble],
    ['llama.cpp', llamaCppDouble],
  ])('are scored by the log-probabilities of %s, whole and streamed', async (_, double) => {
    const { url, client } = await serving(double());
    const { body, headers } = await post(url, { max_tokens: 30, logprobs: 1 });
    const [choice] = body.choices;
    expect(choice).toMatchObject({ text: TEXT, finish_reason: 'stop' });
    expect(choice.logprobs.tokens.join('')).toBe(TEXT);
    expect(Object.keys(choice.logprobs.top_logprobs[0])).toEqual(['First']);
    expect(body.flinch.tokens.map(({ text }: { text: string }) => text)).toEqual(ANSWER);
    expect(body.flinch.tokens[0].scores.nll).toBeCloseTo(-Math.log(0.8));
    expect(body.flinch.verdict).toMatchObject({ flagged: null, unscored_tokens: 0 });
    expect(headers.get('x-flinch-flagged')).toBe('unknown');
    let text = '';
    const tokens: object[] = [];
    const stream = await client.completions.create({
      model: 'm',
      prompt: PROMPT,
      max_tokens: 30,
      logprobs: 1,
      stream: true,
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? '';
      for (const token of chunk.flinch?.tokens ?? []) tokens[token.index] = token;
    }
    expect({ text, tokens }).toEqual({ text: TEXT, tokens: body.flinch.tokens });
  });

  it.each([
    ['by ids, which the server tells', vllmDouble, PROMPT, (prompt: unknown) => Array.isArray(prompt)],
    [
      'by ids, which the client gave',
      llamaCppDouble,
      [ASSISTANT],
      (prompt: unknown) => Array.isArray(prompt),
    ],
    ['by text', llamaCppDouble, '', (prompt: unknown) => String(prompt).startsWith('First it is so')],
  ])('are written again after a doubtful step, %s', async (_, double, prompt, continued) => {
    const isFirst = ({ prompt: given }: RequestBody) => given?.length === prompt.length;
    const { url, asked } = await serving(
      double({
        probability: (i, body) => (body.user === 'doubt' && isFirst(body) && i >= 5 && i < 10 ? 0.2 : 0.9),
        vary: (token, _i, body) => (!isFirst(body) && token === ' not' ? ' yes' : token),
      }),
    );
    const guard = { methods: ['nll'], rate: 0.1 };
    // Until there are enough ordinary steps for risks.
    for (let i = 0; i < 17; i++) await post(url, { prompt, guard });
    const acting = { ...guard, action: 'rollback', candidates: 2 };
    const { body } = await post(url, { prompt, user: 'doubt', seed: 5, max_tokens: 40, guard: acting });
    expect(body.choices[0].text).toBe(TEXT.replace(' not', ' yes'));
    expect(body.flinch.rollbacks).toMatchObject([{ outcome: 'replaced' }]);
    const prompts = asked().slice(18);
    expect(prompts).toHaveLength(3);
    expect(prompts.every((each) => continued(each.prompt))).toBe(true);
  });

  it('are not written again where the server puts a template around the prompt', async () => {
    const { url } = await serving(ollamaDouble());
    expect(await post(url, { guard: { action: 'rollback' } })).toMatchObject({
      status: 400,
      body: { error: { param: 'guard.action' } },
    });
  });

  it('name other choices as unscored, and pass them on', async () => {
    const { url } = await serving((request, reply) => {
      if (request.path !== '/v1/completions' || request.json.max_tokens === 2)
        return vllmDouble()(request, reply);
      const choice = (index: number, text: string, reason: string | null = null) => ({
        index,
        text,
        logprobs: null,
        finish_reason: reason,
        stop_reason: null,
      });
      reply.head();
      for (const word of ['One', ' two'])
        reply.data({ id: 'theirs', choices: [choice(0, word), choice(1, `${word}!`)] });
      reply.data({ choices: [choice(0, '', 'stop'), choice(1, '', 'length')], system_fingerprint: 'f' });
      return reply.last();
    });
    const { body } = await post(url, { n: 2 });
    expect(body).toMatchObject({
      object: 'text_completion',
      system_fingerprint: 'f',
      choices: [
        { index: 0, text: 'One two', finish_reason: 'stop' },
        { index: 1, text: 'One! two!', finish_reason: 'length' },
      ],
      flinch: { guard: { warnings: expect.arrayContaining(['unscored: choices']) } },
    });
    for (const choice of body.choices) expect(choice).not.toHaveProperty('message');
  });

  it('that begin with the prompt are passed on, and not judged', async () => {
    const { url } = await serving(vllmDouble());
    const { body } = await post(url, { echo: true, max_tokens: 5 });
    expect(body.flinch.guard).toMatchObject({
      enabled: false,
      warnings: [expect.stringContaining('with echo the answer begins with the prompt')],
    });
    expect(body.flinch.verdict.flagged).toBeNull();
    expect(await post(url, { echo: true, guard: { action: 'stop' } })).toMatchObject({
      status: 400,
      body: { error: { param: 'guard.action' } },
    });
  });

  it('say which path to use where the server does not know this one', async () => {
    const { url, status } = await serving((request, reply) =>
      request.path === '/v1/completions'
        ? reply.json(404, { detail: 'Not Found' })
        : vllmDouble()(request, reply),
    );
    expect(await post(url, {})).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('/v1/chat/completions') } },
    });
    expect(status()).toMatchObject({ ready: true, upstreams: [{ reachable: true }] });
  });

  it.each([
    ['prompt', { prompt: ['a', 'b'] }, 400],
    ['logprobs', { logprobs: 19 }, 400],
    ['prompt', { prompt: 'x'.repeat(200) }, 400],
    ['max_tokens', { max_tokens: 50 }, 400],
    // No maximum, for some servers.
    ['max_tokens', { max_tokens: -1 }, 400],
    ['max_tokens', { max_tokens: 0 }, 400],
  ])('name %s in an error', async (param, changes, status) => {
    const { url } = await serving(
      vllmDouble(),
      {},
      { limits: { prompt_characters: 100, response_tokens: 40 } },
    );
    expect(await post(url, changes)).toMatchObject({
      status,
      body: { error: { param, message: expect.stringContaining(`${param}: `) } },
    });
  });
});

describe('completions of a prompt with a scorer', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await sharedReasoner();
    await engine.start();
  });

  const tokens = (body: { flinch: { tokens: object[] } }) => body.flinch.tokens;

  it.each([
    ['by ids of the server', { tokenIds: true, logprobs: true, completions: true }],
    ['by text', { logprobs: true, completions: true }],
  ])('have the scores of a model that flinch runs itself, %s', async (_, options) => {
    const upstream = await EngineUpstream.start(engine, options);
    const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
    const model = openUpstreamModel('m', upstreamConfig([upstream.url]), { scorer });
    const own = await EngineModel.open('own', engine);
    const gateway = await startGateway({ models: new Models([model, own]), config: { listen: { port: 0 } } });
    try {
      const ids = encodePrompt(engine.checkpoint, [{ role: 'user', content: QUESTION }]);
      const text = engine.checkpoint.chatTemplate.render([{ role: 'user', content: QUESTION }], {
        addGenerationPrompt: true,
      });
      const asked = { temperature: 0, max_tokens: 60, guard: { lag: 'wait', method: 'adversarial' } };
      const expected = await post(gateway.url, { ...asked, model: 'own', prompt: ids });
      for (const prompt of [ids, text]) {
        const { status, body } = await post(gateway.url, { ...asked, prompt });
        expect({ status, text: body.choices?.[0].text }).toEqual({
          status: 200,
          text: expected.body.choices[0].text,
        });
        expect(tokens(body).map(withoutLogprob)).toEqual(tokens(expected.body).map(withoutLogprob));
      }
      const unseen = await post(gateway.url, { ...asked, prompt: ids, suffix: 'x' });
      expect(unseen.body.flinch.guard.warnings).toContainEqual(expect.stringMatching(/^unscored: .*suffix/));
      expect(unseen.body.flinch.verdict.flagged).toBeNull();
    } finally {
      await gateway.close();
      await model.close();
      await upstream.close();
    }
  });

  it('have no scores of it where the server may put a template around the prompt', async () => {
    const upstream = await scriptedUpstream(ollamaDouble());
    const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
    const { url } = await upstreamGateway([upstream.url], {}, { scorer });
    const { body } = await post(url, { guard: { methods: ['adversarial', 'nll'] } });
    expect(body.flinch.guard.warnings).toContainEqual(expect.stringContaining('template around the prompt'));
    expect(body.flinch.tokens[0].missing).toContain('adversarial');
    expect(body.flinch.verdict.flagged).toBeNull();
  });
});

/** Of the server's, rounding differs; of a running risk, what came before. */
const withoutLogprob = ({ logprob: _, risk: _risk, ...token }: { logprob?: number; risk?: object }) => token;
