import { describe, expect, it } from 'vitest';
import type { ScriptedRequest } from '../../support/scripted-upstream.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import {
  ANSWER,
  answering,
  chunk,
  llamaCppDouble,
  ollamaDouble,
  vllmDouble,
} from '../../support/upstream-doubles.js';
import { clientOf, open, readAll } from '../../support/upstream-server.js';

const probed = async (script: Script) => {
  const upstream = await scriptedUpstream(script);
  const server = clientOf(upstream.url);
  return { upstream, server, capabilities: await server.probe() };
};

/** The request that a generation made, after those of the probe. */
const last = (requests: readonly ScriptedRequest[]) => requests.at(-1)!;

describe('what a server can do', () => {
  it('is found out of vLLM by its documented fields', async () => {
    const { capabilities, server, upstream } = await probed(vllmDouble());
    expect(capabilities).toEqual({ tokenIds: 'return_token_ids', logprobs: 2, resume: 'tokens' });
    const answer = await open(server);
    expect(answer.promptIds).toEqual([1, expect.any(Number), expect.any(Number), 3, 2]);
    const { pieces, text } = await readAll(answer);
    expect(text).toBe(ANSWER.join(''));
    expect(pieces.flatMap(({ tokens }) => tokens ?? []).map(({ id }) => id)).not.toContain(null);
    expect(last(upstream.requests).body).toMatchObject({
      return_token_ids: true,
      logprobs: true,
      top_logprobs: 2,
    });
  });

  it('is found out of llama.cpp', async () => {
    const { capabilities, server } = await probed(llamaCppDouble());
    expect(capabilities).toEqual({ tokenIds: 'return_tokens', logprobs: 2, resume: 'tokens' });
    const { pieces, text } = await readAll(await open(server));
    expect(text).toBe(ANSWER.join(''));
    const tokens = pieces.flatMap(({ tokens }) => tokens ?? []);
    expect(tokens.map(({ id }) => id)).not.toContain(null);
    expect(tokens[0]!.top.map(({ id }) => id)).not.toContain(null);
  });

  it('is found out of Ollama, which continues raw prompts alone where a template ends every message', async () => {
    const { capabilities, server } = await probed(ollamaDouble());
    expect(capabilities).toEqual({ tokenIds: 'none', logprobs: 2, resume: 'prompt' });
    expect((await readAll(await open(server))).text).toBe(ANSWER.join(''));
  });

  it('is nothing but text where nothing else is told', async () => {
    const { capabilities } = await probed((_, reply) => {
      reply
        .head()
        .data(chunk('Yes', null))
        .data({ choices: [{ delta: {}, finish_reason: 'stop' }] })
        .data('[DONE]')
        .end();
    });
    expect(capabilities).toEqual({ tokenIds: 'none', logprobs: null, resume: 'none' });
  });

  it.each(['return_token_ids', 'top_logprobs', 'logprobs', 'stream_options'])(
    'is asked without %s where the server refuses that',
    async (field) => {
      const vllm = vllmDouble();
      const { capabilities, server, upstream } = await probed((request, reply) =>
        field in request.body ? reply.json(400, { error: { message: `${field}?` } }) : vllm(request, reply),
      );
      expect(capabilities.tokenIds).toBe(field === 'return_token_ids' ? 'none' : 'return_token_ids');
      expect(capabilities.logprobs).toBe(field.includes('logprobs') ? null : 2);
      expect((await readAll(await open(server))).text).toBe(ANSWER.join(''));
      expect(last(upstream.requests).body).not.toHaveProperty(field);
    },
  );

  it('does not count a continuation that begins a message of its own', async () => {
    const { server } = await probed(llamaCppDouble({ prefill: false }));
    expect(server.canContinue({ text: 'First', promptIds: null, ids: null })).toBe(false);
    expect(server.canContinue({ text: 'First', promptIds: [1], ids: [9] })).toBe(true);
  });

  it('does not count a prompt of ids that was taken for text', async () => {
    const vllm = vllmDouble();
    const { server } = await probed((request, reply) => {
      const { prompt } = request.body;
      return vllm(
        Array.isArray(prompt) ? { ...request, body: { ...request.body, prompt: `${prompt}` } } : request,
        reply,
      );
    });
    expect(server.capabilities?.resume).toBe('continueFinalMessage');
  });

  it('is asked once for all who want to know, and again after a failure', async () => {
    let down = true;
    const vllm = vllmDouble();
    const upstream = await scriptedUpstream((request, reply) => (down ? reply.cut() : vllm(request, reply)));
    const server = clientOf(upstream.url);
    await expect(server.probe()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(server.lastError?.code).toBe('upstream_unreachable');
    expect(server.capabilities).toBeNull();
    down = false;
    upstream.requests.length = 0;
    const [one, two] = await Promise.all([server.probe(), server.probe()]);
    expect(one).toBe(two);
    const asked = upstream.requests.length;
    await server.probe();
    expect(upstream.requests.length).toBe(asked);
    expect(server.lastError).toBeNull();
  });
});

describe('a text that has begun', () => {
  const begun = { text: 'First it is', promptIds: null, ids: null };

  it('goes on by the ids of its tokens, exactly', async () => {
    const { server, upstream } = await probed(vllmDouble());
    const first = await open(server);
    const { pieces } = await readAll(first);
    const ids = pieces.flatMap(({ tokens }) => (tokens ?? []).map(({ id }) => id!)).slice(0, 3);
    const { text, pieces: rest } = await readAll(
      await open(server, { begun: { ...begun, promptIds: first.promptIds, ids } }),
    );
    expect(text).toBe(ANSWER.slice(3).join(''));
    expect(rest[0]!.tokens).toMatchObject([
      { text: ' so', logprob: Math.log(0.8), top: [{ text: ' so' }, {}] },
    ]);
    expect(last(upstream.requests)).toMatchObject({
      path: '/v1/completions',
      body: { prompt: [...first.promptIds!, ...ids], logprobs: 2 },
    });
  });

  it.each([
    ['vLLM', vllmDouble(), { continue_final_message: true, add_generation_prompt: false }],
    ['llama.cpp', llamaCppDouble(), {}],
  ])('goes on by its text: %s', async (_, script, fields) => {
    const { server, upstream } = await probed(script);
    expect((await readAll(await open(server, { begun }))).text).toBe(ANSWER.slice(3).join(''));
    const { body } = last(upstream.requests);
    expect(body).toMatchObject(fields);
    expect(body.messages?.at(-1)).toEqual({ role: 'assistant', content: begun.text });
  });

  it('goes on by a raw prompt: Ollama', async () => {
    const { server, upstream } = await probed(ollamaDouble());
    const raw = { ...begun, prompt: '<|user|>Say it.<|end|><|assistant|>' };
    expect(server.canContinue(begun)).toBe(false);
    const answer = await open(server, {
      begun: raw,
      sampling: { temperature: 0.5, seed: 3 },
      maxTokens: 4,
      stop: ['!'],
    });
    const { text, pieces } = await readAll(answer);
    expect(text).toBe(ANSWER.slice(3, 7).join(''));
    expect(pieces[0]!.tokens).toMatchObject([{ text: ' so', logprob: Math.log(0.8) }]);
    expect(answer.end()).toMatchObject({ finishReason: 'length', usage: { completionTokens: 4 } });
    expect(last(upstream.requests)).toMatchObject({
      path: '/api/generate',
      body: {
        raw: true,
        prompt: `${raw.prompt}${begun.text}`,
        options: { temperature: 0.5, seed: 3, num_predict: 4, stop: ['!'] },
      },
    });
  });

  it('is refused where there is no way', async () => {
    const { server } = await probed(answering((_, reply) => reply.json(500, {})));
    await expect(open(server, { begun })).rejects.toMatchObject({ code: 'upstream_error' });
  });
});
