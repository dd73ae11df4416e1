import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { lab, useFolder } from '../../support/cli.js';
import { EngineUpstream } from '../../support/engine-upstream.js';
import { QUESTION } from '../../support/requests.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const folder = useFolder();
let server: EngineUpstream;

beforeAll(async () => {
  const engine = await sharedReasoner();
  await engine.start();
  server = await EngineUpstream.start(engine, { logprobs: true, continues: true });
  mkdirSync(folder.path('data/gsm8k'), { recursive: true });
  const rows = ['12', '3', '5'].map((answer) => ({ question: QUESTION, answer: `#### ${answer}` }));
  writeFileSync(folder.path('data/gsm8k/test.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});
afterAll(() => server?.close());

const report = z.object({
  threshold: z.number(),
  cases: z.array(z.record(z.string(), z.looseObject({ small: z.number(), large: z.number() }))),
  rows: z.array(z.looseObject({ way: z.string(), small: z.number(), large: z.number() })),
});

it('answers in all ways by two servers, and goes on where it was interrupted', async () => {
  const out = folder.path('out');
  const url = server.url;
  const models = ['--small-model', 'reasoner', '--large-model', 'reasoner'];
  const args = ['--small', url, '--large', url, ...models, '--data', folder.path('data'), '--out', out];
  const run = (...more: string[]) =>
    lab(['escalate-steps', ...args, '--problems', '2', '--tuning', '1', '--share', '0.5', ...more]);
  const { code, stdout, stderr } = await run('--json');
  expect(code, stderr).toBe(0);
  const { cases, rows } = report.parse(JSON.parse(stdout));
  expect(cases).toHaveLength(2);
  const by = new Map(rows.map((row) => [row.way, row]));
  expect([...by.keys()]).toEqual(['small', 'large', 'steps', 'random', 'rest']);
  expect(by.get('small')).toMatchObject({ large: 0, small: expect.any(Number) });
  expect(by.get('large')).toMatchObject({ small: 0 });
  expect(by.get('steps')?.large).toBeGreaterThan(0);
  expect(by.get('rest')?.large).toBeGreaterThan(0);
  const file = join(out, 'answers.jsonl');
  const written = readFileSync(file, 'utf8');
  const asked = server.asked.length;
  const table = await run();
  expect(table.stdout).toContain('2 problems; a step is doubtful from a summed entropy of');
  expect(table.stdout).toContain('| doubtful steps ');
  expect([readFileSync(file, 'utf8'), server.asked.length]).toEqual([written, asked]);
});
