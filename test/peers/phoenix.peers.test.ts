import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { EngineModel, exportTraces, Models, startGateway } from '#gateway/index.js';
import { freePort } from '#lab/free-port.js';
import { peersFolder } from '#lab/peers/peers-folder.js';
import { startProcess } from '#lab/peers/server.js';
import { Engine } from '#src/index.js';
import { chatBody, post } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { needs } from '../support/peers.js';

const PHOENIX = join(peersFolder(), 'environments/phoenix/bin/phoenix');
const { missing, reason } = needs(PHOENIX);

/** An answer in which the embedded model gets a step wrong, and doubts it: 66 * 9 = 694. */
const DOUBTED = {
  messages: [{ role: 'user', content: 'What is (82 - 16) * 9 - 54 + 59?' }],
  temperature: 1,
  seed: 1,
};

const span = z.object({
  name: z.string(),
  span_kind: z.string(),
  attributes: z.record(z.string(), z.unknown()),
  events: z.array(z.object({ name: z.string(), attributes: z.record(z.string(), z.unknown()) })),
});
const page = z.object({ data: z.array(span) });

describe.skipIf(missing)(`Phoenix${reason}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-phoenix-'));
  let url = '';
  let close = async (): Promise<void> => {};
  beforeAll(async () => {
    const [port, grpc] = [await freePort(), await freePort()];
    const env = {
      PHOENIX_WORKING_DIR: folder,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_TELEMETRY_ENABLED: 'false',
      PHOENIX_ALLOW_EXTERNAL_RESOURCES: 'false',
    };
    const server = await startProcess(
      'phoenix',
      { command: PHOENIX, args: ['serve'], env },
      { port, log: join(folder, 'log'), timeout: 900_000, probe: '/projects' },
    );
    url = new URL(server.url).origin;
    close = async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  afterAll(() => close());

  test('shows generations as calls of a model, with tokens, flags and the verdict, and finds flagged ones', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
    const dropped = vi.fn();
    const traces = await exportTraces({ env: process.env, logger: pino({ level: 'silent' }), dropped });
    vi.unstubAllEnvs();
    const engine = await Engine.open(REASONER);
    await engine.start();
    const models = new Models([await EngineModel.open('reasoner', engine)]);
    const gateway = await startGateway({ models, config: { listen: { port: 0 } } });
    try {
      const guard = { rate: 0.2, action: 'stop' };
      for (const changes of [{}, { ...DOUBTED, guard }, { guard: { enabled: false } }])
        expect((await post(gateway.url, chatBody(changes))).status).toBe(200);
    } finally {
      await gateway.close();
      await engine.close();
      await traces?.close(30_000);
      trace.disable();
    }
    expect(dropped).not.toHaveBeenCalled();

    const spans = async () =>
      page.parse(await (await fetch(`${url}/v1/projects/default/spans?limit=10`)).json()).data;
    await expect.poll(async () => (await spans()).length).toBe(3);
    const all = (await spans()).reverse();
    expect(all.map(({ attributes }) => attributes['flinch.verdict'])).toEqual([
      'passed',
      'flagged',
      'unscored',
    ]);
    for (const { name, span_kind, attributes } of all) {
      expect([name, span_kind, attributes['llm.model_name']]).toEqual(['chat reasoner', 'LLM', 'reasoner']);
      expect(attributes['llm.token_count.completion']).toBeGreaterThan(10);
    }
    const results = (all[1]?.events ?? []).map(({ attributes }) => [
      attributes['gen_ai.evaluation.name'],
      attributes['gen_ai.evaluation.score.label'],
    ]);
    expect(results).toEqual([
      ['flinch.step', 'flagged'],
      ['flinch.verdict', 'flagged'],
    ]);

    const projects = z.object({ data: z.array(z.object({ name: z.string(), id: z.string() })) });
    const { data } = projects.parse(await (await fetch(`${url}/v1/projects`)).json());
    const id = data.find(({ name }) => name === 'default')?.id;
    const query = `query ($filter: String!) {
      node(id: "${id}") { ... on Project { spans(first: 10, filterCondition: $filter) { edges { node { name } } } } }
    }`;
    const variables = { filter: "attributes['flinch']['verdict'] == 'flagged'" };
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const found = await answer.text();
    expect(found.match(/chat reasoner/g), found).toHaveLength(1);
  });
});
