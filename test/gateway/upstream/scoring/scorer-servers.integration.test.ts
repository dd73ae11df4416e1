import { join } from 'node:path';
import { pino } from 'pino';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Metrics, type OpenModels, openModels } from '#gateway/index.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { writeTritonRepository } from '#src/engine/server/write-repository.js';
import { type Engine, FlowGate, type GuardEvent, openCheckpoint } from '#src/index.js';
import { DEFAULT_METHODS, type Scores } from '#src/uncertainty/method-names.js';
import { answerOf } from '../../../support/answers.js';
import { useFolder } from '../../../support/cli.js';
import { EngineUpstream } from '../../../support/engine-upstream.js';
import { chatBody } from '../../../support/gateway.js';
import { calibratedReasoner } from '../../../support/guarded-model.js';
import { InferenceServerDouble } from '../../../support/inference-server-double.js';
import { sharedReasoner } from '../../../support/shared-engines.js';

const folder = useFolder();
const log: string[] = [];
const logger = pino({}, { write: (line: string) => log.push(line) });
let engine: Engine;
let upstream: EngineUpstream;
let servers: InferenceServerDouble[];
let opened: OpenModels;

beforeAll(async () => {
  // Every step is doubtful to this calibration.
  const scorer = await calibratedReasoner(folder.path('scorer'), 0.00015);
  const repository = folder.path('repository');
  const checkpoint = await openCheckpoint(scorer);
  await writeTritonRepository(checkpoint, { output: repository, name: 'reasoner', threads: 1 });
  servers = [new InferenceServerDouble(repository), new InferenceServerDouble(repository)];
  const urls = await Promise.all(servers.map((server) => server.listen()));
  engine = await sharedReasoner();
  upstream = await EngineUpstream.start(engine, { tokenIds: true, logprobs: true, continues: true });
  const common = { upstreams: [{ url: upstream.url, model: 'reasoner' }], scorer };
  const remote = { ...common, scorer_url: urls, scorer_model: 'reasoner' };
  const { models } = configSchema.parse({ models: { local: common, remote } });
  opened = await openModels(models!, { logger, env: {}, metrics: new Metrics() });
});
afterAll(async () => {
  await opened.close();
  await upstream.close();
  for (const server of servers) await server.close();
});

async function events(model: string, guard: object) {
  const { model: served } = opened.all.find((one) => one.model.name === model)!;
  const methods = [...DEFAULT_METHODS];
  const changes = { model, max_tokens: 24, guard: { lag: 'wait', methods, ...guard } };
  const answer = await answerOf(served, parse(chatSchema, chatBody(changes)));
  return lastValueFrom(answer.start(new FlowGate()).pipe(toArray()));
}

/** Of the tokens that a client ends with. */
function lastScores(all: readonly GuardEvent[]): Scores[] {
  const scores: Scores[] = [];
  for (const event of all) {
    if (event.type === 'score.delta') scores[event.index] = event.scores;
    if (event.type === 'token.retracted') scores.length = Math.min(scores.length, event.from);
  }
  return scores;
}

describe('a scorer on inference servers', () => {
  it.each([{}, { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 }])(
    'scores as a process does: %o',
    async (guard) => {
      const [remote, local] = [await events('remote', guard), await events('local', guard)];
      const steps = (all: typeof local) =>
        all.map(({ type }) => type).filter((type) => /^(step|rollback|generation)\./.test(type));
      expect(steps(remote)).toEqual(steps(local));
      expect(steps(local).includes('rollback.done')).toBe('action' in guard);
      const [actual, expected] = [lastScores(remote), lastScores(local)];
      expect(expected.length).toBeGreaterThan(15);
      expect(actual).toHaveLength(expected.length);
      for (const [i, scores] of expected.entries()) {
        for (const method of DEFAULT_METHODS) {
          expect(Math.abs(actual[i]![method]! - scores[method]!)).toBeLessThan(1e-4);
        }
      }
      for (const { runs } of servers) expect(runs.length).toBeGreaterThan(0);
    },
  );

  it('refuses other methods', async () => {
    const guard = { methods: ['adversarial', 'random'] };
    await expect(events('remote', guard)).rejects.toMatchObject({ type: 'settings', field: 'methods' });
  });

  it('ends the stream with an error while no server answers, and goes on by itself', async () => {
    for (const server of servers)
      server.instead.push(
        ...Array(20).fill((_: unknown, response: { destroy(): void }) => response.destroy()),
      );
    await expect(events('remote', {})).rejects.toThrow('scoring failed: ServerFault: the connection failed');
    await expect(events('remote', {})).rejects.toThrow('scoring failed: ServerFault');
    for (const server of servers) server.instead.length = 0;
    expect((await events('remote', {})).at(-1)?.type).toBe('generation.done');
  });
});

it('has no place for servers without an export of the scorer', () => {
  const refusal = (changes: object) =>
    configSchema.safeParse({ models: { m: { upstreams: [{ url: 'http://a' }], ...changes } } }).error
      ?.message;
  expect(refusal({ scorer_url: 'http://t:8000', scorer_model: 'm' })).toContain('requires scorer');
  expect(refusal({ scorer: join('/', 'm'), scorer_url: 'http://t:8000' })).toContain('requires scorer_model');
  expect(refusal({ scorer: '/m', scorer_model: 'm' })).toContain('requires scorer_url');
  expect(refusal({ scorer: '/m', scorer_url: 'grpc://t:8001', scorer_model: 'm' })).toContain('http://');
  expect(
    refusal({ scorer: '/m', scorer_url: ['http://t:8000', 'https://t'], scorer_model: 'm' }),
  ).toBeUndefined();
});
