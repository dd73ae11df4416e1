import OpenAI from 'openai';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EngineModel, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import { openAiDouble } from '../../support/openai-double.js';
import { QUESTION } from '../../support/requests.js';
import { responsesDouble, STORED_ID, WORDS } from '../../support/responses-double.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { sharedReasoner } from '../../support/shared-engines.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const TEXT = WORDS.join('');
const LOGPROBS = 'message.output_text.logprobs';

async function serving(
  script: Script = responsesDouble(openAiDouble()),
  changes: object = {},
  config: object = {},
) {
  const upstream = await scriptedUpstream(script);
  const upstreams = [{ url: upstream.url, model: 'theirs' }];
  const gateway = await upstreamGateway([], { upstreams, ...changes }, {}, config);
  const at = (url: string) => new OpenAI({ baseURL: url, apiKey: 'none', maxRetries: 0 });
  const asked = () =>
    upstream.requests.filter(({ path }) => path === '/v1/responses').map(({ json }) => json);
  return { ...gateway, client: at(`${gateway.url}/v1`), direct: at(upstream.url), asked };
}

const event = z.looseObject({
  type: z.string(),
  sequence_number: z.number(),
  flinch: z.looseObject({ tokens: z.array(z.looseObject({ text: z.string() })) }).optional(),
  response: z.looseObject({}).optional(),
});
type Event = z.output<typeof event>;

async function eventsOf(client: OpenAI, model: string, fields: object): Promise<Event[]> {
  const stream = await client.responses.create({ model, input: 'Hello.', ...fields, stream: true });
  const events: Event[] = [];
  for await (const each of stream) events.push(event.parse(each));
  return events;
}

/** Without what a gateway between says itself, and what it says anew of a text that is scored. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const own = new Set(['flinch', 'model', 'obfuscation', 'sequence_number', 'bytes', 'x_event']);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => (own.has(name) ? [] : [[name, comparable(field)]])),
  );
}

/** Scores come in deltas without a text. */
const saying = (events: readonly Event[]): unknown[] =>
  events.filter(({ delta }) => delta !== '').map(comparable);

/** Fields that the client's types do not know are beside. */
interface Asked {
  readonly model: string;
  readonly input: string;
}

const tools = [
  {
    type: 'function' as const,
    name: 'weather',
    strict: true,
    parameters: { type: 'object', properties: {} },
  },
];

describe('responses of an upstream', () => {
  it('are asked for as they came, save the fields that are set', async () => {
    const { client, asked } = await serving();
    const request = {
      ...{
        input: [{ role: 'user' as const, content: 'Hello.' }],
        store: true,
        previous_response_id: 'resp_0',
      },
      ...{
        include: ['reasoning.encrypted_content' as const],
        truncation: 'auto' as const,
        metadata: { a: 'b' },
      },
    };
    await client.responses.create({ model: 'm', ...request });
    expect(asked()).toEqual([
      {
        ...request,
        model: 'theirs',
        stream: true,
        top_logprobs: 2,
        include: ['reasoning.encrypted_content', LOGPROBS],
      },
    ]);
    await client.responses.create({ model: 'm', ...request, guard: { enabled: false } } as typeof request);
    expect(asked().at(-1)).toEqual({ ...request, model: 'theirs', stream: false });
  });

  it.each([
    ['a text', { include: [LOGPROBS], top_logprobs: 2 }],
    ['a call', { tools }],
    ['reasoning and a text', { input: 'think', include: [LOGPROBS], top_logprobs: 2 }],
    ['two messages', { input: 'twice', include: [LOGPROBS], top_logprobs: 2 }],
    ['a refusal', { input: 'refuse' }],
    ['held back', { input: 'twice', guard: { action: 'stop', delivery: 'held' } }],
    ['a text that is cut', { input: 'long', include: [LOGPROBS], top_logprobs: 2 }],
  ])('come back in the events of the upstream: %s', async (_, fields) => {
    const { client, direct } = await serving();
    const own = await eventsOf(client, 'm', fields);
    const theirs = await eventsOf(direct, 'theirs', fields);
    expect(saying(own)).toEqual(saying(theirs));
    expect(own.map(({ sequence_number }) => sequence_number)).toEqual(own.map((_, i) => i));
    const off = await eventsOf(client, 'm', { ...fields, guard: { enabled: false } as object });
    expect(off.map(comparable)).toEqual(theirs.map(comparable));
    expect(off.map(({ x_event }) => x_event)).toEqual(theirs.map(({ x_event }) => x_event));
    const final = await client.responses
      .stream({ model: 'm', input: 'Hello.', ...fields } as Asked)
      .finalResponse();
    expect(comparable(final)).toMatchObject(Object(comparable(theirs.at(-1)?.response)));
    const whole = await client.responses.create({ model: 'm', input: 'Hello.', ...fields } as Asked);
    expect(comparable(JSON.parse(JSON.stringify(whole)))).toMatchObject(
      Object(comparable(theirs.at(-1)?.response)),
    );
    expect(whole.model).toBe('m');
  });

  it('are scored by the log-probabilities of their text', async () => {
    const { client } = await serving();
    const events = await eventsOf(client, 'm', {});
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(TEXT);
    expect(deltas.every(({ logprobs }) => Array.isArray(logprobs) && logprobs.length === 0)).toBe(true);
    const { flinch } = z
      .looseObject({
        flinch: z.looseObject({
          tokens: z.array(z.looseObject({ text: z.string(), scores: z.looseObject({ nll: z.number() }) })),
          verdict: z.unknown(),
        }),
      })
      .parse(events.at(-1)?.response);
    expect(flinch.tokens.map(({ text }) => text)).toEqual(WORDS);
    expect(flinch.tokens.every(({ scores }) => Math.abs(scores.nll - 0.1) < 1e-9)).toBe(true);
    expect(flinch.verdict).toMatchObject({ steps: 2, unscored_tokens: 0 });
  });

  it('are not written again', async () => {
    const { client } = await serving();
    const asked = { model: 'm', input: 'Hello.', guard: { action: 'rollback' as const } };
    const { flinch } = await client.responses.create(asked);
    expect(flinch?.guard.warnings).toContainEqual(expect.stringContaining('not written again'));
  });

  it.each([
    ['tool_calls', { tools }],
    ['reasoning', { input: 'think' }],
    ['refusal', { input: 'refuse' }],
  ])('name what has no scores: %s', async (kind, fields) => {
    const { client } = await serving();
    const response = await client.responses.create({ model: 'm', input: 'Hello.', ...fields });
    expect(Reflect.get(response, 'flinch')).toMatchObject({
      guard: { warnings: expect.arrayContaining([`unscored: ${kind}`]) },
      verdict: { flagged: null },
    });
    expect(response.id).toBe(STORED_ID);
  });

  it('that fail say so, without the text of the upstream', async () => {
    const { client } = await serving();
    const events = await eventsOf(client, 'm', { input: 'fail' });
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'upstream_error' },
      { type: 'response.failed', response: { id: STORED_ID, status: 'failed' } },
    ]);
    expect(JSON.stringify(events)).not.toContain('host-17');
    await expect(client.responses.create({ model: 'm', input: 'fail' })).rejects.toMatchObject({
      status: 502,
    });
  });

  it.each([
    ['input', { input: 'x'.repeat(200) }],
    ['max_output_tokens', { max_output_tokens: 50 }],
    ['top_logprobs', { top_logprobs: 3 }],
  ])('name %s in an error', async (param, fields) => {
    const limits = { prompt_characters: 100, response_tokens: 40 };
    const { client, asked } = await serving(undefined, {}, { limits });
    await expect(client.responses.create({ model: 'm', input: 'Hello.', ...fields })).rejects.toMatchObject({
      status: 400,
      param,
      message: expect.stringContaining(`${param}: `),
    });
    await client.responses.create({ model: 'm', input: 'Hello.' });
    expect(asked()[0]?.max_output_tokens).toBe(40);
  });
});

describe('responses of an upstream with a scorer', () => {
  it('have the scores of a model that flinch runs itself, by their text', async () => {
    const engine = await sharedReasoner();
    await engine.start();
    const own = await EngineModel.open('own', engine);
    const models: { close(): Promise<void> }[] = [];
    try {
      const first = await startGateway({ models: new Models([own]), config: { listen: { port: 0 } } });
      // A gateway of the same model is the upstream.
      const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
      const config = upstreamConfig([], { upstreams: [{ url: `${first.url}/v1`, model: 'own' }] });
      const model = openUpstreamModel('m', config, { scorer });
      const second = await startGateway({ models: new Models([model]), config: { listen: { port: 0 } } });
      models.push(second, model, first);
      const asked = { input: QUESTION, temperature: 0, max_output_tokens: 60, guard: { lag: 'wait' } };
      const respond = (url: string, name: string) =>
        new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' }).responses.create({ model: name, ...asked } as {
          input: string;
        });
      const [expected, response] = [await respond(first.url, 'own'), await respond(second.url, 'm')];
      expect(response.output_text).toBe(expected.output_text);
      const scores = (of: object) =>
        Reflect.get(of, 'flinch').tokens.map(({ id, scores }: { id: number; scores?: object }) => ({
          id,
          scores,
        }));
      // Batches differ, and so does how their sums are rounded.
      const near = (value: unknown): unknown =>
        typeof value === 'number' ? expect.closeTo(value, 5) : value;
      const expectedScores = JSON.parse(JSON.stringify(scores(expected)), (name, value) =>
        name === 'id' ? value : near(value),
      );
      expect(scores(response)).toEqual(expectedScores);
      expect(scores(response).length).toBeGreaterThan(20);
    } finally {
      for (const each of models) await each.close();
    }
  });
});
