import { answerText, EMPTY_ANSWER, FlinchClient, foldAnswer } from 'flinch-client';
import { WHOLE_FLINCH } from 'flinch-client/protocol';
import { concat, identity, lastValueFrom, take, throwError, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ApiError } from '#gateway/errors/api-error.js';
import { EngineModel, type Gateway, Models, type ServedModel, startGateway } from '#gateway/index.js';
import { policySchema } from '#gateway/policy/policy-schema.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import type { Engine } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { chatBody, post, sseData } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { runClientOf } from '../support/how-to-client.js';
import { renamed } from '../support/renamed-model.js';
import { QUESTION } from '../support/requests.js';
import { openShared } from '../support/shared-engines.js';
import { upstreamConfig } from '../support/upstream-server.js';

const ESCALATE = { action: 'escalate' } as const;

const folder = useFolder();
let gateway: Gateway;
let template: Engine['checkpoint']['chatTemplate'];
const upstreams: { close(): Promise<void> }[] = [];

/** The model under another name, of whose answer so many events come before it fails. */
function failing(model: ServedModel, name: string, events: number): ServedModel {
  const lost = new ApiError('upstream_unreachable', 'the connection was cut');
  return renamed(model, name, ({ told = identity, ...prepared }) => ({
    ...prepared,
    told: (written) =>
      concat(
        written.pipe(told, take(events)),
        throwError(() => lost),
      ),
  }));
}

beforeAll(async () => {
  // Every answer is doubtful to one of them, none to the other.
  const doubtful = await openShared(await calibratedReasoner(folder.path('doubtful'), 1e-9));
  const engine = await openShared(await calibratedReasoner(folder.path('sure'), 1e3));
  await Promise.all([engine.start(), doubtful.start()]);
  template = engine.checkpoint.chatTemplate;
  const small = await EngineModel.open('small', doubtful);
  const large = await EngineModel.open('large', engine);
  const dead = openUpstreamModel('dead', upstreamConfig(['http://127.0.0.1:9/v1'], { retries: 0 }));
  upstreams.push(dead);
  const all = [
    small,
    large,
    renamed(small, 'beside-dead'),
    renamed(small, 'beside-late'),
    renamed(small, 'in-circle'),
    renamed(large, 'sure'),
    dead,
    failing(large, 'late', 5),
  ];
  gateway = await startGateway({
    models: new Models(all),
    config: { listen: { port: 0 }, log: { level: 'silent' } },
    policies: {
      models: {
        small: { escalate: { to: 'large' }, guard: policySchema.parse({ defaults: ESCALATE }) },
        sure: { escalate: { to: 'small' } },
        'beside-dead': { escalate: { to: 'dead' } },
        'beside-late': { escalate: { to: 'late' } },
        'in-circle': { escalate: { to: 'small' } },
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
  model: z.string(),
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })]),
  usage: z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() }),
  flinch: z.looseObject({
    guard: z.looseObject({ action: z.string(), delivery: z.string() }),
    escalations: z.array(z.looseObject({ to: z.string(), failed: z.string().nullable() })),
    verdict: z.looseObject({ flagged: z.boolean().nullable() }),
    usage_by_model: z.record(z.string(), z.looseObject({ completion_tokens: z.number() })).optional(),
  }),
});

const asked = (model: string, changes: object = {}) =>
  chatBody({ model, guard: ESCALATE, top_logprobs: 2, logprobs: true, ...changes });

async function answerOf(model: string, changes: object = {}) {
  const response = await post(gateway.url, asked(model, changes));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const body = JSON.parse(text);
  WHOLE_FLINCH.parse(body.flinch);
  const { flinch, choices, usage } = whole.parse(body);
  return { flinch, text: choices[0].message.content, usage, headers: response.headers, body };
}

async function refusalOf(model: string, changes: object = {}) {
  const response = await post(gateway.url, asked(model, changes));
  const { error } = JSON.parse(await response.text());
  return { status: response.status, code: error.code, param: error.param };
}

const ownText = async (): Promise<string> => (await answerOf('large', { guard: {} })).text;

describe('a flagged answer', () => {
  it('is answered by the other model', async () => {
    const { flinch, text, usage, headers, body } = await answerOf('small');
    expect(flinch.guard).toMatchObject({ action: 'escalate', delivery: 'held' });
    const risk = expect.closeTo(1, 1);
    expect(flinch.escalations).toEqual([{ type: 'generation.escalated', to: 'large', failed: null, risk }]);
    expect(text).toBe(await ownText());
    // The verdict is on the answer that is there.
    expect(flinch.verdict.flagged).toBe(false);
    expect(headers.get('x-flinch-flagged')).toBe('false');
    const { small, large } = flinch.usage_by_model ?? {};
    expect(small?.completion_tokens).toBeGreaterThan(0);
    expect(large?.completion_tokens).toBe(usage.completion_tokens);
    // Tokens keep their names and alternatives without a vocabulary.
    const plain = await answerOf('large', { guard: {} });
    expect(body.choices[0].logprobs).toEqual(plain.body.choices[0].logprobs);
  });

  it('is withheld from an event stream', async () => {
    const response = await post(gateway.url, asked('small', { stream: true }));
    const data: string[] = [];
    for await (const each of sseData(response)) data.push(each);
    expect(data.at(-1)).toBe('[DONE]');
    const chunks = data.slice(0, -1).map((each) => JSON.parse(each));
    const first = chunks.findIndex(({ flinch }) => flinch?.tokens?.length > 0);
    const told = chunks.findIndex(({ flinch }) => flinch?.escalations?.length > 0);
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(first);
    // As in a whole answer.
    expect(chunks[told].flinch.escalations).toEqual((await answerOf('small')).flinch.escalations);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe(await ownText());
    const last = chunks.find(({ choices }) => choices[0]?.finish_reason);
    expect(last.flinch.usage_by_model).toMatchObject({ small: {}, large: {} });
  });

  it('is shown at once over a WebSocket, and void once the other one comes', async () => {
    const client = new FlinchClient({ url: gateway.url });
    const messages = [{ role: 'user', content: QUESTION }] as const;
    const request = { model: 'small', messages, temperature: 0, guard: { action: 'escalate' } } as const;
    const events = await lastValueFrom(client.generate(request).pipe(toArray()));
    client.close();
    const at = events.findIndex(({ type }) => type === 'generation.escalated');
    expect(events.slice(0, at).filter(({ type }) => type === 'token.delta').length).toBeGreaterThan(5);
    const answer = events.reduce(foldAnswer, EMPTY_ANSWER);
    expect(answerText(answer)).toBe(await ownText());
    expect(answer).toMatchObject({ phase: 'done', escalation: { to: 'large', failed: null } });
    expect(answer.steps[0]?.from).toBe(0);
  });

  it('stays where the other model does not answer', async () => {
    const { flinch, text } = await answerOf('beside-dead');
    expect(flinch.escalations).toMatchObject([{ to: 'dead', failed: 'upstream_unreachable' }]);
    expect(flinch.verdict.flagged).toBe(true);
    expect(flinch.usage_by_model).toBeUndefined();
    expect(text).toBe(await ownText());
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toContain('flinch_escalations_total{model="beside-dead",outcome="failed"} 1');
    expect(metrics).toMatch(/flinch_escalations_total\{model="small",outcome="answered"\} [1-9]/);
  });

  it('stays where the other model fails before the client has heard of it', async () => {
    const { flinch, text } = await answerOf('beside-late');
    expect(flinch.escalations).toMatchObject([{ to: 'late', failed: 'upstream_unreachable' }]);
    expect(text).toBe(await ownText());
    // In a stream the client has heard of it.
    const response = await post(gateway.url, asked('beside-late', { stream: true }));
    const data: string[] = [];
    for await (const each of sseData(response)) data.push(each);
    expect(JSON.parse(data.at(-1) ?? '')).toMatchObject({ error: { code: 'upstream_unreachable' } });
  });

  it('of a model that was asked in place of another one stays', async () => {
    const { flinch } = await answerOf('in-circle');
    expect(flinch.escalations).toMatchObject([{ to: 'small', failed: null }]);
    expect(flinch.verdict.flagged).toBe(true);
  });
});

it('is seen by the client of the how-to', async () => {
  const printed = await runClientOf('docs/how-to/escalate.md', gateway.url);
  expect(printed).toMatch(
    /^asked large \{ failed: null, risk: [\d.]+ \}\n[\s\S]+\{\n {2}small: \{[\s\S]+large: \{/,
  );
});

describe('a budget', () => {
  // All answers of one of them are flagged, none of the other's.
  it.each(['small', 'sure'])('is kept, whatever the calibration of %s says', async (model) => {
    const guard = { ...ESCALATE, budget: 0.3 };
    let escalated = 0;
    for (let i = 0; i < 20; i++) {
      const messages = [{ role: 'user', content: `What is (${i} - 12) * 3 + ${90 - i}?` }];
      const { flinch } = await answerOf(model, { guard, messages, max_tokens: 20 });
      expect(flinch.guard).toMatchObject({ budget: 0.3 });
      escalated += flinch.escalations.length;
    }
    // 6, of which chance and the start of the traffic may take 2.
    expect(Math.abs(escalated - 6)).toBeLessThanOrEqual(2);
  });

  it.each([0, 1.1, '0.3'])('of %j is refused', async (budget) => {
    const refused = { status: 400, code: 'invalid_value', param: 'guard.budget' };
    expect(await refusalOf('small', { guard: { ...ESCALATE, budget } })).toEqual(refused);
  });
});

describe('escalation', () => {
  it("is the same in OpenAI's other APIs", async () => {
    const send = async (path: string, body: object) => {
      const response = await fetch(`${gateway.url}/v1/${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ model: 'small', temperature: 0, guard: ESCALATE, ...body }),
      });
      const text = await response.text();
      expect(response.status, text).toBe(200);
      return z.looseObject({ flinch: whole.shape.flinch }).parse(JSON.parse(text)).flinch;
    };
    const escalations = [{ to: 'large', failed: null }];
    const response = await send('responses', { input: QUESTION });
    expect(response).toMatchObject({ escalations, usage_by_model: { small: {}, large: {} } });
    const prompt = template.render([{ role: 'user', content: QUESTION }], { addGenerationPrompt: true });
    const completion = await send('completions', { prompt, max_tokens: 60 });
    expect(completion).toMatchObject({ escalations });
  });

  it('is not asked for where the guard is off', async () => {
    const off = { ...ESCALATE, enabled: false };
    const response = await post(gateway.url, asked('small', { guard: off, n: 1 }));
    const { flinch } = JSON.parse(await response.text());
    expect([response.status, flinch.guard.enabled, flinch.verdict]).toEqual([200, false, undefined]);
  });

  it('tells what the page may offer', async () => {
    const list = await (await fetch(`${gateway.url}/v1/models`)).text();
    const { data } = z
      .object({
        data: z.array(
          z.object({ id: z.string(), flinch: z.looseObject({ escalates_to: z.string().nullable() }) }),
        ),
      })
      .parse(JSON.parse(list));
    const named = Object.fromEntries(data.map(({ id, flinch }) => [id, flinch.escalates_to]));
    expect(named).toMatchObject({ small: 'large', large: null });
  });

  it('gives way where too much is withheld', async () => {
    const models = new Models([await EngineModel.open('small', await openShared(folder.path('doubtful')))]);
    const little = await startGateway({
      models: new Models([...models.all, renamed(models.all[0]!, 'large')]),
      config: { listen: { port: 0 }, log: { level: 'silent' }, limits: { kept_bytes: 4096 } },
      policies: { models: { small: { escalate: { to: 'large' } } }, access: { keys: [] } },
    });
    onTestFinished(() => little.close());
    const response = await post(little.url, asked('small', { stream: true }));
    expect(await response.text()).toContain('answer_too_large');
  });

  it('leaves an answer alone that is not flagged', async () => {
    const { flinch, text } = await answerOf('sure');
    expect(flinch.escalations).toEqual([]);
    expect(flinch.usage_by_model).toBeUndefined();
    expect(text).toBe(await ownText());
  });

  it('is refused where it cannot be', async () => {
    const refused = { status: 400, code: 'invalid_value' };
    expect(await refusalOf('large')).toEqual({ ...refused, param: 'guard.action' });
    const response = await fetch(`${gateway.url}/v1/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'small', prompt: [1, 2, 3], guard: ESCALATE }),
    });
    expect([response.status, JSON.parse(await response.text()).error.param]).toEqual([400, 'prompt']);
  });
});
