import { answerText, EMPTY_ANSWER, FlinchClient, foldAnswer } from 'flinch-client';
import { PROBABILITY_METHODS, WHOLE_FLINCH } from 'flinch-client/protocol';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EngineModel, type Gateway, Models, startGateway } from '#gateway/index.js';
import { policySchema } from '#gateway/policy/policy-schema.js';
import { useFolder } from '../support/cli.js';
import { chatBody, post, sseData } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { runClientOf } from '../support/how-to-client.js';
import { renamed } from '../support/renamed-model.js';
import { QUESTION } from '../support/requests.js';
import { openShared } from '../support/shared-engines.js';

const folder = useFolder();
let gateway: Gateway;

beforeAll(async () => {
  // Every answer is doubtful to one of them, none to the other.
  const doubtful = await openShared(await calibratedReasoner(folder.path('doubtful'), 1e-9));
  const sure = await openShared(await calibratedReasoner(folder.path('sure'), 1e3));
  await Promise.all([doubtful.start(), sure.start()]);
  const small = await EngineModel.open('small', doubtful);
  gateway = await startGateway({
    models: new Models([small, renamed(small, 'reasoner'), await EngineModel.open('sure', sure)]),
    config: { listen: { port: 0 }, log: { level: 'silent' } },
    policies: {
      models: { sure: { guard: policySchema.parse({ defaults: { action: 'vote' }, locked: ['action'] }) } },
      access: { keys: [] },
    },
  });
});
afterAll(() => gateway?.close());

const usageSchema = z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() });
const whole = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  usage: usageSchema,
  flinch: z.looseObject({
    guard: z.looseObject({ action: z.string(), delivery: z.string() }),
    votes: z.array(z.looseObject({ answers: z.number(), agreed: z.number(), replaced: z.boolean() })),
    verdict: z.looseObject({ flagged: z.boolean() }),
    usage_by_model: z.record(z.string(), usageSchema).optional(),
  }),
});

/** Further answers that differ from each other. */
const VOTE = { action: 'vote', candidates: 4 } as const;
const asked = (changes: object = {}) =>
  chatBody({ model: 'small', seed: 4, temperature: 2, guard: VOTE, ...changes });

async function answerOf(changes: object = {}) {
  const response = await post(gateway.url, asked(changes));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const body = JSON.parse(text);
  WHOLE_FLINCH.parse(body.flinch);
  const { flinch, choices, usage } = whole.parse(body);
  return { flinch, text: choices[0].message.content, usage };
}

describe('a flagged answer', () => {
  it('is put to a vote', async () => {
    const { flinch, text, usage } = await answerOf();
    expect(flinch.guard).toMatchObject({ action: 'vote', delivery: 'held' });
    const [vote] = flinch.votes;
    expect(vote?.answers).toBeGreaterThanOrEqual(3);
    expect(vote?.agreed).toBeGreaterThanOrEqual(1);
    const { small } = flinch.usage_by_model ?? {};
    expect(small?.prompt_tokens).toBe((vote?.answers ?? 0) * usage.prompt_tokens);
    expect(small?.completion_tokens).toBeGreaterThan(2 * usage.completion_tokens);
    // The same seed, the same vote.
    expect(await answerOf()).toMatchObject({ text, flinch: { votes: [vote] } });
  });

  it('stays where further ones agree, with its verdict', async () => {
    const greedy = await answerOf({ temperature: 0.1, guard: {} });
    const { flinch, text } = await answerOf({ temperature: 0.1 });
    expect(flinch.votes).toMatchObject([{ answers: 3, agreed: 3, replaced: false, failed: null }]);
    expect([text, flinch.verdict.flagged]).toEqual([greedy.text, true]);
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toMatch(/flinch_votes_total\{model="small",outcome="kept"\} [1-9]/);
  });

  it('is withheld from an event stream', async () => {
    const data: string[] = [];
    for await (const each of sseData(await post(gateway.url, asked({ stream: true })))) data.push(each);
    const chunks = data.slice(0, -1).map((each) => JSON.parse(each));
    const told = chunks.findIndex(({ flinch }) => flinch?.votes?.length > 0);
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(chunks.findIndex(({ flinch }) => flinch?.tokens?.length > 0));
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toBe((await answerOf()).text);
  });

  it('is shown at once over a WebSocket, and void if another one is returned', async () => {
    const client = new FlinchClient({ url: gateway.url });
    const messages = [{ role: 'user', content: QUESTION }] as const;
    const votes = async (seed: number) => {
      const request = { model: 'small', messages, temperature: 2, seed, guard: VOTE } as const;
      const events = await lastValueFrom(client.generate(request).pipe(toArray()));
      const at = events.findIndex(({ type }) => type === 'generation.voted');
      expect(events.slice(0, at).filter(({ type }) => type === 'token.delta').length).toBeGreaterThan(5);
      return { answer: events.reduce(foldAnswer, EMPTY_ANSWER), own: events.slice(at + 1) };
    };
    let voted = await votes(1);
    for (let seed = 2; !voted.answer.vote?.replaced && seed < 20; seed++) voted = await votes(seed);
    client.close();
    const { answer, own } = voted;
    expect(answer).toMatchObject({ phase: 'done', vote: { replaced: true } });
    expect(answerText(answer)).toBe(
      own.flatMap((event) => (event.type === 'token.delta' ? event.text : [])).join(''),
    );
    expect(answer.steps[0]?.from).toBe(0);
    // No pass for answers that may not be returned.
    expect(answer.tokens.map(({ scores, pending }) => [Object.keys(scores ?? {}), pending])).toEqual(
      answer.tokens.map(() => [PROBABILITY_METHODS, []]),
    );
  });
});

describe('a vote', () => {
  it('is seen by the client of the how-to', async () => {
    const printed = await runClientOf('docs/how-to/vote.md', gateway.url);
    expect(printed).toMatch(/^\d of \d answers agree:\n[\s\S]+\{\n {2}reasoner: \{/);
  });

  it('is the same in the API of responses', async () => {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'small', guard: VOTE, input: QUESTION }),
    });
    const { flinch } = z.object({ flinch: whole.shape.flinch }).parse(JSON.parse(await response.text()));
    expect(flinch.votes).toHaveLength(1);
  });

  it('is not held where the answer is not flagged, and may be what an operator locks', async () => {
    const { flinch } = await answerOf({ model: 'sure', guard: {} });
    expect(flinch).toMatchObject({ guard: { action: 'vote' }, votes: [], verdict: { flagged: false } });
    const response = await post(gateway.url, asked({ model: 'sure', guard: { action: 'annotate' } }));
    expect(response.status).toBe(403);
  });

  it.each([
    [{ n: 2 }, 'n'],
    [{ guard: { ...VOTE, candidates: 17 } }, 'guard.candidates'],
  ])('is refused with %j', async (changes, param) => {
    const response = await post(gateway.url, asked(changes));
    expect([response.status, JSON.parse(await response.text()).error.param]).toEqual([400, param]);
  });
});
