import { answerText, EMPTY_ANSWER, FlinchClient, foldAnswer } from 'flinch-client';
import { WHOLE_FLINCH } from 'flinch-client/protocol';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EngineModel, type Gateway, Models, startGateway } from '#gateway/index.js';
import { policySchema } from '#gateway/policy/policy-schema.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { useFolder } from '../support/cli.js';
import { EngineUpstream } from '../support/engine-upstream.js';
import { chatBody, post, sseData } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { renamed } from '../support/renamed-model.js';
import { QUESTION } from '../support/requests.js';
import { openShared } from '../support/shared-engines.js';
import { upstreamConfig } from '../support/upstream-server.js';

const folder = useFolder();
let gateway: Gateway;
let remote: EngineUpstream;
const upstreams: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  // Every step is doubtful to one of them, none to the other.
  const doubtful = await openShared(await calibratedReasoner(folder.path('doubtful'), 1e-9));
  const sure = await openShared(await calibratedReasoner(folder.path('sure'), 1e3));
  await Promise.all([doubtful.start(), sure.start()]);
  const small = await EngineModel.open('small', doubtful);
  const large = await EngineModel.open('large', sure);
  const dead = openUpstreamModel('dead', upstreamConfig(['http://127.0.0.1:9/v1'], { retries: 0 }));
  const server = await EngineUpstream.start(sure, { logprobs: true, continues: true });
  const forgetful = await EngineUpstream.start(sure, { logprobs: true });
  remote = server;
  const away = openUpstreamModel('remote', upstreamConfig([server.url]));
  const other = openUpstreamModel('forgetful', upstreamConfig([forgetful.url]));
  upstreams.push(dead, away, other, server, forgetful);
  gateway = await startGateway({
    models: new Models([
      ...[small, large, dead, away, other, renamed(large, 'alone')],
      ...['beside-dead', 'beside-remote', 'beside-forgetful', 'strict', 'beginner', 'alone-again'].map(
        (name) => renamed(small, name),
      ),
    ]),
    config: { listen: { port: 0 }, log: { level: 'silent' } },
    policies: {
      models: {
        small: { escalate: { to: 'large', on: 'step' } },
        beginner: { escalate: { to: 'remote', on: 'step', return: 'never' } },
        'alone-again': { escalate: { to: 'dead', on: 'step', return: 'never' } },
        'beside-dead': { escalate: { to: 'dead', on: 'step' } },
        'beside-remote': { escalate: { to: 'remote', on: 'step' } },
        'beside-forgetful': { escalate: { to: 'forgetful', on: 'step' } },
        strict: {
          escalate: { to: 'large', on: 'step' },
          guard: policySchema.parse({ unscored: 'refuse', locked: ['enabled'] }),
        },
      },
      access: { keys: [] },
    },
  });
});
afterAll(async () => {
  await gateway?.close();
  await Promise.all(upstreams.map((each) => each.close()));
});

const whole = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  usage: z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() }),
  flinch: z.looseObject({
    guard: z.looseObject({ action: z.string(), delivery: z.string(), lag: z.string() }),
    flagged: z.array(z.looseObject({ step: z.number(), action: z.string() })),
    escalations: z.array(z.looseObject({ step: z.number(), to: z.string(), failed: z.string().nullable() })),
    tokens: z.array(z.looseObject({ inserted: z.boolean().optional() })),
    steps: z.array(z.looseObject({ text: z.string(), flagged: z.boolean() })),
    verdict: z.looseObject({ flagged: z.boolean().nullable() }),
    usage_by_model: z
      .record(
        z.string(),
        z.looseObject({ prompt_tokens: z.number().nullable(), completion_tokens: z.number() }),
      )
      .optional(),
  }),
});

const ESCALATE = { action: 'escalate', max_rollbacks: 2 } as const;
const asked = (changes: object = {}) => chatBody({ model: 'small', guard: ESCALATE, ...changes });

async function answerOf(changes: object = {}) {
  const response = await post(gateway.url, asked(changes));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const body = JSON.parse(text);
  WHOLE_FLINCH.parse(body.flinch);
  const { flinch, choices, usage } = whole.parse(body);
  return { flinch, text: choices[0].message.content, usage };
}

describe('a flagged step', () => {
  it('is written by the other model, and the first one goes on', async () => {
    // Of the same weights, and so of the same words, as it is asked to be greedy.
    const plain = await answerOf({ model: 'large', guard: {} });
    const { flinch, text, usage } = await answerOf();
    expect(text).toBe(plain.text);
    expect(flinch.guard).toMatchObject({ action: 'escalate', delivery: 'held', lag: 'wait' });
    const told = { to: 'large', failed: null };
    expect(flinch.escalations).toMatchObject([
      { step: 0, ...told },
      { step: 1, ...told },
    ]);
    // Nobody judges what the other model wrote.
    expect(flinch.verdict).toMatchObject({ flagged: true });
    // As many as the guard may, then they are marked.
    expect(flinch.flagged.slice(0, 3).map(({ step, action }) => [step, action])).toEqual([
      [0, 'escalate'],
      [1, 'escalate'],
      [2, 'annotate'],
    ]);
    const inserted = flinch.tokens.filter((token) => token.inserted).length;
    const { small, large } = flinch.usage_by_model ?? {};
    expect(small).toMatchObject({ completion_tokens: usage.completion_tokens });
    expect(large?.completion_tokens).toBeGreaterThanOrEqual(inserted);
    expect(inserted).toBeGreaterThan(5);
    // Its prompt is the question, and then the question with what came before the step.
    expect(Number(large?.prompt_tokens)).toBeGreaterThan(2 * usage.prompt_tokens);
  });

  it('is replaced before it is sent, in an event stream', async () => {
    const data: string[] = [];
    for await (const each of sseData(await post(gateway.url, asked({ stream: true })))) data.push(each);
    const chunks = data.slice(0, -1).map((each) => JSON.parse(each));
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe((await answerOf()).text);
    const types = chunks.flatMap(({ flinch }) =>
      (flinch?.events ?? []).map(({ type }: { type: string }) => type),
    );
    expect(types.filter((type) => type === 'step.escalated')).toHaveLength(2);
  });

  it('is void over a WebSocket, once the other one comes', async () => {
    const client = new FlinchClient({ url: gateway.url });
    const messages = [{ role: 'user', content: QUESTION }] as const;
    const request = { model: 'small', messages, temperature: 0, guard: ESCALATE } as const;
    const events = await lastValueFrom(client.generate(request).pipe(toArray()));
    client.close();
    const types = events.map(({ type }) => type);
    expect(types.indexOf('token.retracted')).toBeGreaterThan(types.indexOf('step.escalated'));
    const answer = events.reduce(foldAnswer, EMPTY_ANSWER);
    expect(answer.escalatedSteps).toHaveLength(2);
    expect(answerText(answer)).toBe((await answerOf({ max_tokens: undefined })).text);
    expect(answer.tokens.filter(({ inserted }) => inserted).length).toBeGreaterThan(5);
  });

  it('is written by a server that goes on with the text before it', async () => {
    const { flinch, text } = await answerOf({ model: 'beside-remote' });
    expect(text).toBe((await answerOf({ model: 'large', guard: {} })).text);
    expect(flinch.escalations).toMatchObject([
      { step: 0, to: 'remote', failed: null, replaced: true },
      { step: 1, to: 'remote', failed: null, replaced: true },
    ]);
    const [first, second] = remote.asked.map(({ messages }) => messages);
    expect(first?.at(-1)).toMatchObject({ role: 'user' });
    expect(second?.at(-1)).toMatchObject({ role: 'assistant', content: flinch.steps[0]?.text });
  });

  it('ends the part of the first model, where the other one writes the rest', async () => {
    const plain = await answerOf({ model: 'large', guard: {} });
    const before = remote.asked.length;
    const { flinch, text, usage } = await answerOf({ model: 'beginner' });
    expect(text).toBe(plain.text);
    expect(flinch.escalations).toMatchObject([{ step: 0, to: 'remote', failed: null, replaced: true }]);
    expect(flinch.flagged).toHaveLength(1);
    expect(flinch.steps.length).toBeGreaterThan(2);
    expect(flinch.tokens.every(({ inserted }) => inserted)).toBe(true);
    expect(flinch.usage_by_model?.remote?.completion_tokens).toBe(usage.completion_tokens);
    // It wrote the flagged step, and maybe some of the next.
    expect(flinch.usage_by_model?.beginner?.completion_tokens).toBeGreaterThan(0);
    expect(remote.asked).toHaveLength(before + 1);
  });

  it('takes no more tokens than were asked for, of both models together', async () => {
    const { flinch, usage } = await answerOf({ model: 'beginner', max_tokens: 20 });
    expect(usage.completion_tokens).toBe(20);
    expect(flinch.tokens).toHaveLength(20);
  });

  it('stays where the model that would write the rest does not answer', async () => {
    const { flinch, text } = await answerOf({ model: 'alone-again' });
    expect(text).toBe((await answerOf({ model: 'large', guard: {} })).text);
    expect(flinch.escalations).toMatchObject([
      { step: 0, to: 'dead', failed: 'upstream_unreachable', replaced: false },
      { step: 1, to: 'dead', failed: 'upstream_unreachable', replaced: false },
    ]);
  });

  it('stays where the other model cannot go on with a text', async () => {
    const { flinch } = await answerOf({ model: 'beside-forgetful' });
    // The first step has no text before it.
    expect(flinch.escalations).toMatchObject([
      { step: 0, failed: null, replaced: true },
      { step: 1, failed: 'invalid_value', replaced: false },
    ]);
  });

  it('stays where the other model does not answer', async () => {
    const { flinch, text } = await answerOf({ model: 'beside-dead' });
    expect(text).toBe((await answerOf({ model: 'large', guard: {} })).text);
    expect(flinch.escalations).toMatchObject([
      { step: 0, to: 'dead', failed: 'upstream_unreachable' },
      { step: 1, to: 'dead', failed: 'upstream_unreachable' },
    ]);
    expect([flinch.verdict.flagged, flinch.usage_by_model]).toEqual([true, undefined]);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toContain('flinch_escalations_total{model="beside-dead",outcome="failed"} 2');
  });
});

describe('escalation by steps', () => {
  it('is the same for completions of a text', async () => {
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'small', temperature: 0, guard: ESCALATE, max_tokens: 60 },
        prompt: '<|user|>\nWhat is 12 + 3 * 4?\n<|assistant|>\n',
      }),
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    const { flinch } = z.object({ flinch: whole.shape.flinch }).parse(JSON.parse(text));
    expect(flinch.escalations.length).toBeGreaterThan(0);
  });

  it.each([
    [{ guard: { ...ESCALATE, act_on: 'spike' } }, 'guard.act_on'],
    [{ guard: { ...ESCALATE, lag: 'skip' } }, 'guard.lag'],
    [{ n: 2 }, 'n'],
    [{ model: 'alone' }, 'guard.action'],
    [{ model: 'strict' }, 'guard.action'],
  ])('is refused with %j', async (changes, param) => {
    const response = await post(gateway.url, asked(changes));
    expect([response.status, JSON.parse(await response.text()).error.param]).toEqual([400, param]);
  });
});
