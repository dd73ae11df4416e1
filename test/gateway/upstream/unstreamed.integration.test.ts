import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { answer } from '#gateway/answers/answering.js';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Policies } from '#gateway/policy/policies.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { answeringOf, answerRequest } from '../../support/answers.js';
import { post } from '../../support/gateway.js';
import { type Script, type ScriptedReply, SSE, scriptedUpstream } from '../../support/scripted-upstream.js';
import { chunk, stopChunk } from '../../support/upstream-doubles.js';
import { body, gatewayBefore, streamed } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const OFF = { guard: { enabled: false } };
const REASON = 'Your organization must be verified to stream this model.';
const refusal = (message: string, param: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code: 'unsupported_value' },
});

/** How servers refuse streams. */
const REFUSALS: Readonly<Record<string, (reply: ScriptedReply) => void>> = {
  'OpenAI, of an organization that is not verified': (reply) => reply.json(400, refusal(REASON, 'stream')),
  'a field of another name': (reply) => reply.json(422, { detail: [{ loc: ['body', 'flow'], msg: REASON }] }),
  'a status that says nothing': (reply) => reply.json(501, {}),
  'a right that the key lacks': (reply) => reply.json(403, refusal(REASON)),
  'an error as the first event': (reply) =>
    reply
      .head(200, SSE)
      .data({ error: { message: REASON, code: 400 } })
      .end(),
  'the whole answer all the same': (reply) => reply.json(200, whole({})),
};

const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

/** As OpenAI's whole answers; with log-probabilities where they are asked for. */
function whole(asked: Readonly<Record<string, unknown>>, message: object = {}) {
  const entry = (token: string, logprob: number) => {
    const others = [
      { token, logprob },
      { token: '?', logprob: -3 },
    ];
    return { token, logprob, bytes: [...Buffer.from(token)], top_logprobs: others };
  };
  const logprobs = asked.logprobs ? { content: [entry('Old', -0.2), entry(' town', -0.4)] } : null;
  return {
    id: 'theirs',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    system_fingerprint: 'fp',
    choices: [
      {
        index: 0,
        logprobs,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'Old town', refusal: null, annotations: [], ...message },
      },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  };
}

const unstreamed =
  (refuse: (reply: ScriptedReply) => void, tells = true): Script =>
  ({ json }, reply) => {
    if (json.stream === true) return refuse(reply);
    if (json.logprobs && !tells) return reply.json(400, refusal('no logprobs here', 'logprobs'));
    reply.json(
      200,
      whole(json, json.tools ? { content: null, tool_calls: [call, { ...call, id: 'c2' }] } : {}),
    );
  };

const answerSchema = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({}) })),
  flinch: z.looseObject({
    guard: z.looseObject({ warnings: z.array(z.string()).optional() }),
    verdict: z.looseObject({}).optional(),
    tokens: z.array(z.looseObject({ scores: z.looseObject({}).optional() })),
  }),
});

async function answerOf(url: string, changes: object = {}) {
  const response = await post(url, body({ stream: false, ...changes }));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return answerSchema.parse(JSON.parse(text));
}

describe.each(Object.entries(REFUSALS))('a server that refuses streams: %s', (name, refuse) => {
  it('gives whole answers, as they are without a guard', async () => {
    const { url } = await gatewayBefore(unstreamed(refuse));
    const { id, model, flinch, ...rest } = await answerOf(url, OFF);
    const { id: _, model: __, ...own } = whole({});
    expect(rest).toEqual(own);
  });

  it('gives whole answers that are scored, also in the form of a stream', async () => {
    const { url } = await gatewayBefore(unstreamed(refuse));
    const { choices, flinch } = await answerOf(url);
    expect(choices[0]?.message).toMatchObject({ role: 'assistant', content: 'Old town' });
    expect(flinch.tokens.map(({ scores }) => scores?.nll)).toEqual([0.2, 0.4]);
    const warning = expect.stringMatching(/at once.*stream/);
    expect(flinch.guard.warnings).toContainEqual(warning);
    if (name.startsWith('OpenAI'))
      expect(flinch.guard.warnings).toContainEqual(expect.stringContaining(REASON));
    const { text, done, chunks } = await streamed(url);
    expect([text, done]).toEqual(['Old town', true]);
    expect(chunks.flatMap(({ flinch }) => flinch?.guard?.warnings ?? [])).toContainEqual(warning);
  });

  it('says with its own error that a stream without a guard is not to be had', async () => {
    const { url } = await gatewayBefore(unstreamed(refuse));
    const { status, error } = await streamed(url, OFF);
    if (name.startsWith('OpenAI') || name.startsWith('a field')) {
      expect(status).toBe(400);
      expect(error?.message).toContain(REASON);
    } else expect(error).toMatchObject({ code: expect.stringContaining('upstream_') });
  });

  it('gives tool calls, and answers without scores', async () => {
    const { url } = await gatewayBefore(unstreamed(refuse, false));
    const { choices } = await answerOf(url, { tools: [{ type: 'function', function: { name: 'f' } }] });
    expect(choices[0]?.message.tool_calls).toEqual([call, { ...call, id: 'c2' }]);
    const { flinch, choices: texts } = await answerOf(url);
    expect(texts[0]?.message.content).toBe('Old town');
    expect(flinch.verdict).toMatchObject({ flagged: null });
    expect(flinch.guard.warnings).toContainEqual(expect.stringMatching(/at once.*stream/));
  });
});

it('a stream that fails in passing is no refusal', async () => {
  let failures = 1;
  const { url } = await gatewayBefore(({ json }, reply) => {
    if (json.stream !== true) return reply.json(200, whole(json));
    if (failures-- > 0) return reply.json(500, {});
    reply.head().last(chunk('Old'), stopChunk);
  });
  expect((await answerOf(url)).choices[0]?.message.content).toBe('Old');
});

it('text without scores is refused where a policy says so, with the reason of the server', async () => {
  const upstream = await scriptedUpstream(unstreamed((reply) => reply.json(400, refusal(REASON)), false));
  const model = openUpstreamModel('m', upstreamConfig([upstream.url], { retries: 0 }));
  onTestFinished(() => model.close());
  const how = { kept: true, stream: false, canRetract: false, verbatim: true };
  const policies = new Policies(configSchema.parse({ guard: { unscored: 'refuse' } }));
  const request = answerRequest(parse(chatSchema, body({ stream: false })), how);
  await expect(answer(request, answeringOf([model], { policies }))).rejects.toMatchObject({
    code: 'upstream_refused',
    message: expect.stringContaining(REASON),
  });
});

it('a response is had whole as well', async () => {
  const output = [
    { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Old town' }] },
  ];
  const { url } = await gatewayBefore(({ json, path }, reply) => {
    if (json.stream === true) return reply.json(400, refusal(REASON, 'stream'));
    if (!path.endsWith('/responses')) return reply.json(200, whole(json));
    reply.json(200, { id: 'r', object: 'response', status: 'completed', model: 'theirs', output });
  });
  for (const changes of [OFF, {}]) {
    const response = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Say it.', ...changes }),
    });
    expect(await response.json()).toMatchObject({ status: 'completed', output });
  }
});

describe('fields that a server refuses with a stream alone', () => {
  const excluding =
    (field: string, always = false): Script =>
    (request, reply) => {
      const { json } = request;
      if (field in json && (json.stream === true || always))
        return reply.json(400, refusal(`${field} with stream?`, field));
      if (json.stream !== true) return reply.json(200, { ...whole(json), prompt_logprobs: [null, 7] });
      reply.head().last(chunk('Old'), stopChunk);
    };

  it.each(['prompt_logprobs', 'use_beam_search', 'a_field_of_tomorrow'])('%s', async (field) => {
    const { url } = await gatewayBefore(excluding(field));
    const { choices, flinch, prompt_logprobs } = await answerOf(url, { [field]: 1 });
    expect(choices[0]?.message.content).toBe('Old town');
    expect(prompt_logprobs).toEqual([null, 7]);
    expect(flinch.tokens.map(({ scores }) => scores?.nll)).toEqual([0.2, 0.4]);
    expect(flinch.guard.warnings).toContainEqual(expect.stringContaining(`${field} with stream?`));
    expect((await answerOf(url, { [field]: 1, ...OFF })).prompt_logprobs).toEqual([null, 7]);
    // A stream that the client wants is the server's to refuse.
    for (const changes of [{}, OFF])
      expect((await streamed(url, { [field]: 1, ...changes })).error).toMatchObject({
        message: expect.stringContaining(`${field} with stream?`),
      });
  });

  it('are refused with the words of the server where it refuses them anyway', async () => {
    const { url, upstream } = await gatewayBefore(excluding('odd', true));
    await answerOf(url);
    const before = upstream.requests.length;
    const response = await post(url, body({ stream: false, odd: 1 }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('odd with stream?');
    // As a stream, and as a whole.
    expect(upstream.requests.length - before).toBe(2);
  });
});

it('the reason of a server that refuses everything is told, without its secrets', async () => {
  const host = { address: '' };
  const { upstream, url, log, status } = await gatewayBefore((_, reply) =>
    reply.json(400, refusal(`project p-7 at ${host.address} is archived`)),
  );
  host.address = new URL(upstream.url).host;
  const response = await post(url, body());
  const problem = 'the upstream refuses the simplest request: project p-7 at *** is archived';
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ error: { code: 'upstream_error', message: problem } });
  expect(status()).toMatchObject({ upstreams: [{ error: 'upstream_error', problem }] });
  expect(log.join('')).toContain(problem);
  expect(log.join('')).not.toContain(host.address);
});
