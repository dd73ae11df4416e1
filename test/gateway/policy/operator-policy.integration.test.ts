import { createHash } from 'node:crypto';
import OpenAI, { PermissionDeniedError } from 'openai';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { post, useGateway } from '../../support/gateway.js';
import { Scrape } from '../../support/metrics.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { vllmDouble } from '../../support/upstream-doubles.js';
import { upstreamConfig } from '../../support/upstream-server.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

/** An answer in which the embedded model gets a step wrong, and doubts it: 66 * 9 = 694. */
const DOUBTED = {
  model: 'reasoner',
  temperature: 1,
  seed: 1,
  messages: [{ role: 'user' as const, content: 'What is (82 - 16) * 9 - 54 + 59?' }],
};

const keyOf = (name: string): string => `the-key-of-${name}-0123456789`;
const key = (name: string, guard: object) => ({
  name,
  sha256: createHash('sha256').update(keyOf(name)).digest('hex'),
  guard,
});

const KEYS = [
  key('strict', { defaults: { action: 'rollback', delivery: 'held' }, locked: 'all' }),
  key('watching', { name: 'watch', defaults: { action: 'annotate' } }),
  key('halting', { defaults: { action: 'stop', delivery: 'held' }, locked: ['enabled', 'action'] }),
];

describe('an unmodified client', () => {
  const gateway = useGateway(undefined, { settings: { access: { keys: KEYS } } });
  const clientOf = (name: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: keyOf(name), maxRetries: 0 });

  /** The whole answer, with what is beside it. */
  async function answer(name: string, changes: object = {}) {
    const completion = await clientOf(name).chat.completions.create({ ...DOUBTED, ...changes });
    const [choice] = completion.choices;
    const flinch: unknown = Reflect.get(completion, 'flinch');
    return { text: choice?.message.content ?? '', finish: choice?.finish_reason, flinch };
  }

  /** The same, streamed. */
  async function streamed(name: string) {
    const stream = await clientOf(name).chat.completions.create({ ...DOUBTED, stream: true });
    let [text, finish]: [string, string | null] = ['', null];
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      finish = choices[0]?.finish_reason ?? finish;
    }
    return { text, finish };
  }

  it('has doubtful steps replaced, where its key says so', async () => {
    const { text, finish, flinch } = await answer('strict');
    expect(flinch).toMatchObject({
      guard: { policy: 'key:strict', action: 'rollback', delivery: 'held' },
      rollbacks: expect.arrayContaining([expect.objectContaining({ outcome: 'replaced' })]),
    });
    expect(finish).toBe('stop');
    expect(text).not.toContain('= 694');
    expect(await streamed('strict')).toEqual({ text, finish });
  });

  it('has them marked by default', async () => {
    const { text, finish, flinch } = await answer('watching');
    expect(flinch).toMatchObject({ guard: { policy: 'watch', action: 'annotate', delivery: 'immediate' } });
    expect(flinch).toHaveProperty('flagged.0.action', 'annotate');
    expect(text).toContain('= 694');
    expect(await streamed('watching')).toEqual({ text, finish });
  });

  it('has the answer ended before them', async () => {
    const { text, finish, flinch } = await answer('halting');
    expect(flinch).toMatchObject({ guard: { policy: 'key:halting', action: 'stop', delivery: 'held' } });
    expect(finish).toBe('content_filter');
    expect(text).not.toContain('= 694');
    expect(await streamed('halting')).toEqual({ text, finish });
  });

  it.each([
    ['strict', { enabled: false }, 'guard.enabled'],
    ['strict', { rate: 0.001 }, 'guard.rate'],
    ['halting', { enabled: false }, 'guard.enabled'],
    ['halting', { action: 'annotate' }, 'guard.action'],
  ])('cannot change what is locked: %s, %o', async (name, guard, param) => {
    for (const stream of [false, true]) {
      const error: unknown = await answer(name, { guard, stream }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(PermissionDeniedError);
      expect(error).toMatchObject({ code: 'policy_violation', param });
      expect(String(error)).toContain(`by the policy key:${name}`);
    }
  });

  it('is told of the guard how it judges, and what itself or the policy has set', async () => {
    const { flinch } = await answer('watching', { guard: { candidates: 3, scoring: { block: 4 } } });
    expect(Object(flinch).guard).toEqual({
      enabled: true,
      methods: DEFAULT_METHODS,
      method: 'nll',
      per: 'step',
      rate: 0.02,
      delivery: 'immediate',
      action: 'annotate',
      lag: 'wait',
      calibrated: true,
      policy: 'watch',
      warnings: expect.any(Array),
      candidates: 3,
      scoring: { block: 4 },
    });
  });

  it('is told what is locked, by which policy, and to what', async () => {
    const policyOf = async (name: string) => {
      const { data } = await clientOf(name).models.list();
      return Reflect.get(data[0] ?? {}, 'flinch').policy;
    };
    expect(await policyOf('halting')).toMatchObject({
      name: 'key:halting',
      defaults: { action: 'stop', delivery: 'held' },
      locked: { enabled: 'key:halting', action: 'key:halting' },
    });
    expect(await policyOf('watching')).toMatchObject({ name: 'watch', locked: {} });
  });

  it('has its policy over WebSocket, too', async () => {
    const headers = { Authorization: `Bearer ${keyOf('strict')}` };
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/stream`, 'flinch.v1', { headers });
    onTestFinished(() => socket.close());
    const events: { readonly type: string; readonly [field: string]: unknown }[] = [];
    socket.on('message', (data) => events.push(JSON.parse(data.toString())));
    await new Promise((resolve) => socket.once('open', resolve));
    const ask = (guard: object) =>
      socket.send(JSON.stringify({ type: 'generation.create', ...DOUBTED, guard }));
    ask({ enabled: false });
    await expect
      .poll(() => events.at(-1))
      .toMatchObject({
        type: 'error',
        error: { code: 'policy_violation', param: 'guard.enabled' },
      });
    ask({ action: 'rollback' });
    await expect.poll(() => events.at(-1)?.type).toBe('generation.done');
    expect(events.find(({ type }) => type === 'generation.created')).toMatchObject({
      guard: { policy: 'key:strict', action: 'rollback', delivery: 'held' },
    });
    expect(events.some(({ type }) => type === 'rollback.done')).toBe(true);
  });
});

describe('a policy before an upstream', () => {
  it('holds as before a model of its own', async () => {
    const upstream = await scriptedUpstream(vllmDouble());
    const model = openUpstreamModel('m', upstreamConfig([upstream.url], { retries: 0 }), {
      logger: pino({ level: 'silent' }),
    });
    const gateway = await startGateway({
      models: new Models([model]),
      config: {
        listen: { port: 0 },
        guard: { defaults: { methods: ['nll'], action: 'stop', delivery: 'held' }, locked: 'all' },
      },
    });
    onTestFinished(async () => {
      await gateway.close();
      await model.close();
    });
    const request = { model: 'm', messages: [{ role: 'user', content: 'Say it.' }] };
    const answered = await post(gateway.url, request);
    expect(await answered.json()).toMatchObject({
      flinch: { guard: { policy: 'gateway', action: 'stop', delivery: 'held', methods: ['nll'] } },
    });
    const asked = upstream.requests.length;
    const refused = await post(gateway.url, { ...request, guard: { enabled: false } });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      error: { code: 'policy_violation', param: 'guard.enabled' },
    });
    expect(upstream.requests).toHaveLength(asked);
    gateway.reload(configSchema.parse({ guard: { defaults: { enabled: false }, locked: 'all' } }));
    const unguarded = await post(gateway.url, request);
    expect(await unguarded.json()).toMatchObject({
      flinch: { guard: { policy: 'gateway', enabled: false } },
    });
    expect((await post(gateway.url, { ...request, guard: { enabled: true } })).status).toBe(403);
  });
});

describe('the policies of a gateway', () => {
  const guard = { defaults: { rate: 0.1 }, locked: ['rate'], bounds: { max_candidates: 2 } } as const;

  it('are in /healthz, for each model', async () => {
    const { url } = await useTestGateway({ guard: { name: 'house', ...guard, locked: ['rate'] } });
    const { models } = await (await fetch(`${url}/healthz`)).json();
    expect(models).toEqual([
      {
        id: 'waiting',
        ready: true,
        policies: [
          {
            name: 'house',
            defaults: { rate: 0.1, candidates: 2 },
            locked: ['rate'],
            bounds: { max_candidates: 2 },
            unscored: 'pass',
          },
        ],
      },
    ]);
  });

  it('are counted by name, as soon as they are there', async () => {
    const { url, metricsUrl, reload } = await useTestGateway({
      guard: { ...guard, locked: ['rate'] },
    });
    const counts = async (policy: string) => {
      const scrape = await Scrape.of(metricsUrl);
      return ['accepted', 'refused'].map((result) =>
        scrape.sum('flinch_policy_requests_total', { policy, result }),
      );
    };
    await (await post(url, ask('hello'))).text();
    expect((await post(url, ask('hello', { guard: { rate: 0.2 } }))).status).toBe(403);
    expect((await post(url, ask('hello', { guard: { candidates: 3 } }))).status).toBe(403);
    expect(await counts('gateway')).toEqual([1, 2]);
    reload(configSchema.parse({}));
    await (await post(url, ask('hello', { guard: { rate: 0.2 } }))).text();
    expect(await counts('none')).toEqual([1, 0]);
    expect(await counts('gateway')).toEqual([1, 2]);
  });

  it('leave fields that are out of range to the request', async () => {
    const { url } = await useTestGateway({ guard: { locked: ['rate'] } });
    const refused = await post(url, ask('hello', { guard: { rate: 2 } }));
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_value', param: 'guard.rate' } });
    expect(refused.status).toBe(400);
  });
});
