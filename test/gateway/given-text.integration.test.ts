import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { EngineModel, type GatewayOptions, Models, type ServedModel, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import { DEFAULT_METHODS } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { chatBody, post, TestSocket, useGateway } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { freeze, kill } from '../support/process.js';
import { QUESTION } from '../support/requests.js';
import { upstreamConfig } from '../support/upstream-server.js';

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

const folder = useFolder();
// By passes: the process that writes would round the same probabilities otherwise.
const guard = { defaults: { methods: [...DEFAULT_METHODS] } };
/** Some steps of a right answer are flagged, and all of one with other numbers. */
const gateway = useGateway(() => calibratedReasoner(folder.path('model'), 0.000082), { settings: { guard } });
const MESSAGES = [{ role: 'user', content: QUESTION }];
const WRONG = 'We start with 12.\n12 - 9 = 1.\n1 + 67 = 99.\n';

const verdict = z.looseObject({ flagged: z.boolean().nullable(), risk: z.number().nullable() });
const completion = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  flinch: z.object({ verdict, flagged: z.array(z.unknown()) }),
});
const answer = z.object({
  action: z.enum(['BLOCKED', 'NONE']),
  blocked_reason: z.string().optional(),
  flinch: z.object({
    unscored: z.array(z.string()),
    reason: z.string().optional(),
    texts: z.array(z.object({ model: z.string(), verdict, flagged: z.array(z.unknown()) })),
  }),
});
const failure = z.object({
  error: z.object({ code: z.string(), param: z.string().nullable(), message: z.string() }),
});

/** What the model writes, and what is said of it. */
/** Its numbers come from other graphs. */
const written = once(async () => {
  const response = await post(gateway.url, chatBody({ max_tokens: 60 }));
  const { choices, flinch } = completion.parse(await response.json());
  return { text: choices[0].message.content, ...nearly(flinch) };
});

function nearly<T>(value: T): T;
function nearly(value: unknown): unknown {
  if (typeof value === 'number') return expect.closeTo(value, 3);
  if (Array.isArray(value)) return value.map((each) => nearly(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, nearly(each)]));
}

const send = (body: object, url = gateway.url, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/beta/litellm_basic_guardrail_api`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ input_type: 'response', structured_messages: MESSAGES, ...body }),
  });

async function apply(body: object, url?: string, headers?: Record<string, string>) {
  const response = await send(body, url, headers);
  return { status: response.status, ...answer.parse(await response.json()) };
}

async function refused(body: object, url?: string, headers?: Record<string, string>) {
  const response = await send(body, url, headers);
  const { error } = failure.parse(await response.json());
  return { status: response.status, code: error.code, param: error.param };
}

async function gatewayOf(models: readonly ServedModel[], config: GatewayOptions['config'] = {}) {
  const other = await startGateway({
    models: new Models(models),
    config: { ...config, listen: { port: 0 } },
  });
  onTestFinished(() => other.close());
  return other.url;
}

describe('LiteLLM’s generic guardrail API', () => {
  it('has the verdict and flags of the same text when the model wrote it', async () => {
    const { text, ...known } = await written();
    const { status, action, flinch } = await apply({ texts: [text] });
    expect({ status, action }).toEqual({ status: 200, action: 'NONE' });
    expect(known.flagged).not.toEqual([]);
    expect(flinch.texts).toMatchObject([{ model: 'reasoner', ...known }]);
  });

  it('blocks an answer that is flagged, whichever of the texts it is', async () => {
    const { text } = await written();
    const { action, blocked_reason, flinch } = await apply({ texts: [text, WRONG], tool_calls: [{}] });
    expect(action).toBe('BLOCKED');
    expect(blocked_reason).toMatch(
      /^flinch: .* \(rank \d\d\.\d\d %, flagged from 98\.00 %\); \d of 3 steps flagged$/,
    );
    expect(flinch.texts.map((each) => each.verdict.flagged)).toEqual([false, true]);
    expect(flinch.unscored).toEqual(['tool_calls']);
  });

  it('keeps the messages of a request for the response to it', async () => {
    const { text, ...known } = await written();
    const call = { litellm_call_id: 'call-1' };
    const asked = await apply({ input_type: 'request', texts: [QUESTION], ...call });
    expect(asked).toMatchObject({ action: 'NONE', flinch: { reason: 'requests are not scored', texts: [] } });
    const response = { texts: [text], structured_messages: null };
    expect((await apply({ ...response, ...call })).flinch.texts).toMatchObject([known]);
    for (const id of ['call-2', null]) {
      expect(await refused({ ...response, litellm_call_id: id })).toEqual({
        status: 400,
        code: 'invalid_value',
        param: 'structured_messages',
      });
    }
  });

  it('takes what LiteLLM’s proxy sends', async () => {
    const message = z.looseObject({ input_type: z.string(), texts: z.array(z.string()) });
    const [request, response] = z
      .tuple([message, message])
      .parse(JSON.parse(readFileSync('test/fixtures/litellm-guardrail.json', 'utf8')));
    expect(response).toMatchObject({ input_type: 'response', structured_messages: null });
    expect(await apply({ ...request })).toMatchObject({ action: 'NONE' });
    const [content] = request.texts;
    const known = await apply({ texts: response.texts, structured_messages: [{ role: 'user', content }] });
    const { flinch } = await apply({ ...response });
    expect(flinch.texts).toEqual(known.flinch.texts);
  });

  it('says that nothing is scored where there is no text', async () => {
    const { action, flinch } = await apply({ texts: [''], tool_calls: [{}], images: null });
    expect(action).toBe('NONE');
    expect(flinch).toEqual({ unscored: ['tool_calls'], reason: 'the response has no text', texts: [] });
  });

  it.each([
    ['input_type', { input_type: 'both' }, 400, 'invalid_value'],
    ['texts', { texts: 'one' }, 400, 'invalid_value'],
    ['texts', { texts: ['a'.repeat(1_000_001)], structured_messages: MESSAGES }, 400, 'prompt_too_long'],
    ['texts', { texts: ['a'.repeat(10_000)] }, 400, 'invalid_value'],
    ['texts', { texts: new Array(129).fill('a') }, 400, 'invalid_value'],
    ['structured_messages', { texts: ['a'], structured_messages: [] }, 400, 'invalid_value'],
    [
      'additional_provider_specific_params.model',
      { texts: ['a'], additional_provider_specific_params: { model: 'none' } },
      404,
      'model_not_found',
    ],
  ])('refuses a wrong %s by its name', async (param, body, status, code) => {
    expect(await refused(body)).toEqual({ status, code, param });
  });

  it('is not passed by an answer that is not judged, and takes the key that LiteLLM sends', async () => {
    const key = 'sixteen-characters';
    const sha256 = createHash('sha256').update(key).digest('hex');
    const url = await gatewayOf([await EngineModel.open('reasoner', gateway.engine)], {
      access: { keys: [{ name: 'litellm', sha256 }] },
      guard: { defaults: { method: 'adversarial', scoring: { block: 3 } } }, // of which there is no calibration
    });
    const body = { texts: [WRONG] };
    expect(await refused(body, url)).toMatchObject({ status: 401 });
    expect(await refused(body, url, { 'x-api-key': key })).toMatchObject({ status: 503, code: 'not_judged' });
  });

  it('scores by the scorer of an upstream, whatever becomes of its servers', async () => {
    const { text, ...known } = await written();
    const scorer = await Scorer.open(gateway.engine, { logger: pino({ level: 'silent' }) });
    const config = upstreamConfig(['http://127.0.0.1:9/v1'], {});
    const models = [openUpstreamModel('scored', config, { scorer }), openUpstreamModel('unscored', config)];
    onTestFinished(async () => {
      for (const model of models) await model.close();
    });
    const url = await gatewayOf(models, { guard });
    const by = (model?: string) => ({ texts: [text], additional_provider_specific_params: { model } });
    expect((await apply(by('scored'), url)).flinch.texts).toMatchObject([{ model: 'scored', ...known }]);
    const param = 'additional_provider_specific_params.model';
    expect(await refused(by('unscored'), url)).toMatchObject({ status: 400, param });
    expect(await refused(by(), url)).toMatchObject({ status: 400, param });
  });
});

describe('generation.score', () => {
  const score = { type: 'generation.score', model: 'reasoner', messages: MESSAGES };

  async function begin(message: object = score) {
    const socket = await TestSocket.open(gateway.url);
    onTestFinished(() => socket.close());
    socket.send(message);
    const { response_id } = await socket.event(({ type }) => type === 'generation.created');
    return {
      socket,
      append: (part: object) => socket.send({ type: 'generation.append', response_id, ...part }),
    };
  }

  it('scores a text while it comes, in parts of any size', async () => {
    const { text, ...known } = await written();
    const { socket, append } = await begin();
    for (let at = 0; at < text.length; at += 9) append({ text: text.slice(at, at + 9) });
    // Before the end is known.
    await socket.event(({ type }) => type === 'step.flagged');
    append({ text: '', end: true });
    const done = await socket.event(({ type }) => type === 'generation.done');
    expect(done.verdict).toEqual(known.verdict);
    const texts = socket.events.map((event) => (event.type === 'token.delta' ? event.text : ''));
    expect(texts.join('')).toBe(text);
  });

  it('is judged whole by a guard that would stop or roll back', async () => {
    const guard = { action: 'rollback', lag: 'skip' };
    const { socket, append } = await begin({ ...score, guard });
    append({ text: WRONG, end: true });
    const done = await socket.event(({ type }) => type === 'generation.done');
    expect(done.verdict).toMatchObject({ flagged: true, steps: 3, unscored_tokens: 0 });
    expect(socket.events[0]?.guard).toMatchObject({ action: 'annotate', delivery: 'immediate', lag: 'wait' });
  });

  it('refuses what is appended to a generation that is over, or that the model writes', async () => {
    const { socket, append } = await begin();
    append({ text: 'a', end: true });
    await socket.event(({ type }) => type === 'generation.done');
    append({ text: 'b' });
    const late = await socket.event(({ type }) => type === 'error');
    expect(late.error).toMatchObject({ code: 'unknown_response', param: 'response_id' });
    const own = await begin({ type: 'generation.create', ...chatBody() });
    own.append({ text: 'a' });
    const mixed = await own.socket.event(({ type }) => type === 'error');
    expect(mixed.error).toMatchObject({ code: 'invalid_value', param: 'response_id' });
  });

  it('ends with an error, and without a verdict, where scoring fails', async () => {
    const { socket, append } = await begin();
    append({ text: 'We start with 11.\n' });
    await socket.event(({ type }) => type === 'token.delta');
    kill(gateway.engine.status().score.pid);
    append({ text: WRONG, end: true });
    const { error } = await socket.event(({ type }) => type === 'error');
    expect(error?.code).toMatch(/^engine_/);
    expect(socket.events.filter(({ type }) => type === 'generation.done')).toEqual([]);
  });

  it('is an error of the guardrail, too', async () => {
    await expect.poll(() => gateway.engine.status().score.device).toBeDefined();
    const { pid } = gateway.engine.status().score;
    // Dies with the request in it: one that comes later finds a new process.
    freeze(pid);
    const answer = refused({ texts: [WRONG] });
    await expect.poll(() => gateway.engine.status().score.waiting).toBeGreaterThan(0);
    kill(pid);
    const { status, code } = await answer;
    expect([500, 503]).toContain(status);
    expect(code).toMatch(/^engine_/);
  });
});
