import { describe, expect, it } from 'vitest';
import type { ScriptedRequest } from '../../../support/scripted-upstream.js';
import { type Script, scriptedUpstream } from '../../../support/scripted-upstream.js';
import {
  ANSWER,
  answering,
  chunk,
  llamaCppDouble,
  mute,
  ollamaDouble,
  stopChunk,
  vllmDouble,
} from '../../../support/upstream-doubles.js';
import { clientOf, open, readAll } from '../../../support/upstream-server.js';

const probed = async (script: Script, options: { readonly now?: () => number } = {}) => {
  const upstream = await scriptedUpstream(script);
  const server = clientOf(upstream.url, {}, options);
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
    expect(tokens[0]!.topLogprobs.map(({ id }) => id)).not.toContain(null);
  });

  it('is found out of Ollama, which continues nothing where a template ends every message', async () => {
    const { capabilities, server } = await probed(ollamaDouble());
    expect(capabilities).toEqual({ tokenIds: 'none', logprobs: 2, resume: 'none' });
    expect((await readAll(await open(server))).text).toBe(ANSWER.join(''));
  });

  it.each([1, 2, 3])('has the alternatives of a server that allows %i', async (mostLogprobs) => {
    const { capabilities } = await probed(vllmDouble({ mostLogprobs }));
    expect(capabilities.logprobs).toBe(Math.min(mostLogprobs, 2));
  });

  it('is nothing but text where nothing else is told', async () => {
    const { capabilities } = await probed(mute);
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
    const { server } = await probed(llamaCppDouble({ prefill: false, fields: false }));
    expect(server.canContinue({ text: 'First', promptIds: null, ids: null })).toBe(false);
    expect(server.canContinue({ text: 'First', promptIds: [1], ids: [9] })).toBe(true);
  });

  it('does not count a continuation that repeats what was there', async () => {
    const llama = llamaCppDouble();
    const { server } = await probed((request, reply) =>
      'continue_final_message' in request.body ? reply.json(400, {}) : llama(request, reply),
    );
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

  /** A model that thinks for three tokens, which are described as those of its answer. */
  const thinking =
    (described: boolean): Script =>
    ({ path, body }, reply) => {
      if (path !== '/v1/chat/completions') return reply.json(404, {});
      const parts = [...['Okay', ',', ' so'].map((thought) => ({ thought })), { text: 'Yes' }, { text: '.' }];
      reply.head();
      for (const { thought, text = thought } of parts.slice(0, body.max_tokens) as readonly {
        readonly thought?: string;
        readonly text?: string;
      }[]) {
        const [choice] = chunk(text ?? '', thought && !described ? null : -0.1).choices;
        reply.data({
          choices: [{ ...choice, ...(thought !== undefined && { delta: { reasoning_content: thought } }) }],
        });
      }
      reply.last(stopChunk);
    };

  it.each([
    ['whose thoughts have log-probabilities: by them', true, [2]],
    ['whose thoughts have none: by the tokens after them', false, [2, 64]],
  ])('is found out of a model that thinks first, %s', async (_, described, lengths) => {
    const { capabilities, upstream } = await probed(thinking(described));
    expect(capabilities).toMatchObject({ logprobs: 2 });
    const chats = upstream.requests.filter(({ body: { messages } }) => messages?.length === 1);
    expect(chats.map(({ body }) => body.max_tokens)).toEqual(lengths);
  });

  /** As OpenAI's models that think: a name of its own for the limit, no temperature, no log-probabilities. */
  const strict: Script = ({ path, body }, reply) => {
    if (path !== '/v1/chat/completions') return reply.json(404, {});
    const refused = ['max_tokens', 'temperature', 'logprobs', 'top_logprobs', 'return_token_ids'];
    const field = refused.find((name) => name in body);
    if (field) return reply.json(400, { error: { message: `Unsupported parameter: '${field}'` } });
    reply.head().data(chunk('Hi', null)).data(stopChunk);
    const usage = { prompt_tokens: 7, completion_tokens: 1 };
    reply.last({ choices: [], usage });
  };

  it('is found out of a server that takes max_completion_tokens alone', async () => {
    const { capabilities, server, upstream } = await probed(strict);
    expect(capabilities).toEqual({ tokenIds: 'none', logprobs: null, resume: 'none' });
    expect((await readAll(await open(server, { maxTokens: 9 }))).text).toBe('Hi');
    expect(last(upstream.requests).body).toMatchObject({
      max_completion_tokens: 9,
      stream_options: { include_usage: true },
    });
  });

  it('is not asked of a server that refuses the plainest question until some time has passed', async () => {
    let now = 0;
    const upstream = await scriptedUpstream((_, reply) => reply.json(400, { error: { message: 'No.' } }));
    const server = clientOf(upstream.url, {}, { now: () => now });
    const refused = { code: 'upstream_error', message: 'the upstream refuses the simplest request: No.' };
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      await expect(server.probe()).rejects.toMatchObject(refused);
      const asked = upstream.requests.length;
      expect(asked).toBe(6 * (i + 1)); // two of them without a stream
      await expect(server.probe()).rejects.toMatchObject(refused);
      expect(upstream.requests.length).toBe(asked);
      const failed = now;
      while (!server.due) now += 1000;
      waits.push((now - failed) / 1000);
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 120, 120, 120]);
  });

  it('counts as far as it was found out when something came between, and is asked again as the server says', async () => {
    let now = 0;
    let left = 1;
    const vllm = vllmDouble();
    const { capabilities, server, upstream } = await probed(
      (request, reply) =>
        left-- === 0 ? reply.json(429, {}, { 'retry-after': '30' }) : vllm(request, reply),
      { now: () => now },
    );
    expect(capabilities).toEqual({ tokenIds: 'return_token_ids', logprobs: 2, resume: 'none' });
    expect(upstream.requests.length).toBe(2);
    now = 29_999;
    expect(server.due).toBe(false);
    now = 30_000;
    expect(server.due).toBe(true);
    await server.renew();
    expect(server.capabilities?.resume).toBe('tokens');
    now = 1e9;
    expect(server.due).toBe(false);
  });

  it('holds when a connection is cut, until the server has said again what it can do', async () => {
    let cut = false;
    let now = 0;
    const vllm = vllmDouble();
    const { capabilities, server, upstream } = await probed(
      (request, reply) => (cut ? reply.cut() : vllm(request, reply)),
      { now: () => now },
    );
    cut = true;
    await expect(open(server)).rejects.toMatchObject({ code: 'upstream_unreachable' });
    expect(server).toMatchObject({ capabilities, reachable: false });
    cut = false;
    upstream.requests.length = 0;
    expect((await readAll(await open(server))).text).toBe(ANSWER.join(''));
    expect(upstream.requests.length).toBe(1);
    expect(server.reachable).toBe(true);
    now = 5000;
    expect(server.due).toBe(true);
  });

  it('costs so many requests', async () => {
    const counts: number[] = [];
    for (const script of [vllmDouble(), llamaCppDouble(), ollamaDouble(), strict]) {
      counts.push((await probed(script)).upstream.requests.length);
    }
    // As docs/upstreams.md says.
    expect(counts).toEqual([5, 5, 8, 16]);
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
  const prefix = { text: 'First it is', promptIds: null, ids: null };

  it('goes on by the ids of its tokens, exactly', async () => {
    const { server, upstream } = await probed(vllmDouble());
    const first = await open(server);
    const { pieces } = await readAll(first);
    const ids = pieces.flatMap(({ tokens }) => (tokens ?? []).map(({ id }) => id!)).slice(0, 3);
    const { text, pieces: rest } = await readAll(
      await open(server, { prefix: { ...prefix, promptIds: first.promptIds, ids } }),
    );
    expect(text).toBe(ANSWER.slice(3).join(''));
    expect(rest[0]!.tokens).toMatchObject([
      { text: ' so', logprob: Math.log(0.8), topLogprobs: [{ text: ' so' }, {}] },
    ]);
    expect(last(upstream.requests)).toMatchObject({
      path: '/v1/completions',
      body: { prompt: [...first.promptIds!, ...ids], logprobs: 2 },
    });
  });

  it.each([
    ['vLLM', vllmDouble(), { continue_final_message: true, add_generation_prompt: false }],
    ['llama.cpp', llamaCppDouble(), { continue_final_message: true, add_generation_prompt: false }],
    ['llama.cpp before its pull request 23012', llamaCppDouble({ fields: false }), {}],
  ])('goes on by its text: %s', async (_, script, fields) => {
    const { server, upstream } = await probed(script);
    expect((await readAll(await open(server, { prefix }))).text).toBe(ANSWER.slice(3).join(''));
    const { body } = last(upstream.requests);
    expect(body).toMatchObject(fields);
    expect(body.messages?.at(-1)).toEqual({ role: 'assistant', content: prefix.text });
  });

  it('ends in white space that the template takes off: that is not written twice', async () => {
    const answer = ['First', ' it', '.', '\n', 'Then', ' not', '.'];
    const llama = llamaCppDouble({ answer });
    // As the templates of Llama 3.
    const { server, upstream } = await probed((request, reply) => {
      const messages = request.body.messages?.map(({ role, content }) => ({ role, content: content.trim() }));
      return llama({ ...request, body: { ...request.body, messages } }, reply);
    });
    const open2 = (text: string) => open(server, { prefix: { text, promptIds: null, ids: null } });
    const { text, pieces } = await readAll(await open2('First it.\n'));
    expect(last(upstream.requests).body.messages?.at(-1)?.content).toBe('First it.');
    expect(text).toBe('Then not.');
    expect(pieces[0]?.tokens).toMatchObject([{ text: 'Then', logprob: Math.log(0.8) }]);
    expect((await readAll(await open2('First it.'))).text).toBe('\nThen not.');
  });

  it('goes on by a raw prompt', async () => {
    const { server, upstream } = await probed(ollamaDouble({ raw: true }));
    expect(server.capabilities?.resume).toBe('prompt');
    const raw = { ...prefix, prompt: '<|user|>Say it.<|end|><|assistant|>' };
    expect(server.canContinue(prefix)).toBe(false);
    const answer = await open(server, {
      prefix: raw,
      sampling: { temperature: 0.5, seed: 3 },
      maxTokens: 4,
      stop: ['!'],
    });
    expect((await readAll(answer)).text).toBe(ANSWER.slice(3, 7).join(''));
    expect(answer.end()).toMatchObject({ finishReason: 'length', usage: { completionTokens: 4 } });
    expect(last(upstream.requests)).toMatchObject({
      path: '/v1/completions',
      body: {
        prompt: `${raw.prompt}${prefix.text}`,
        ...{ temperature: 0.5, seed: 3, max_tokens: 4, stop: ['!'] },
      },
    });
  });

  it('is refused where there is no way', async () => {
    const { server } = await probed(answering((_, reply) => reply.json(500, {})));
    await expect(open(server, { prefix })).rejects.toMatchObject({ code: 'upstream_error' });
  });
});
