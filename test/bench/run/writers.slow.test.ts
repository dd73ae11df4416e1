import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Plan } from '#bench/run/plan/plan.js';
import { freePort } from '#lab/free-port.js';
import { changedReasoner } from '../../support/changed-model.js';
import { flinch, jsonLines, useFolder } from '../../support/cli.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../support/engine-upstream.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const folder = useFolder();
const RUN = [
  ...['--model', REASONER, '--suite', 'tasks', '--subsets', 'story,percent,counting,heights,truth'],
  ...['--limit', '4', '--seed', '11', '--temperature', '1', '--score', 'all'],
  ...['--measures', 'adversarial,self_consistency:samples=1', '--streams', '2'],
];
const run = (name: string, ...more: string[]) =>
  flinch(['bench', 'run', ...RUN, '--out', folder.path(name), ...more]);
const lines = (file: string) => jsonLines(folder.read(file));
const byId = (file: string) =>
  lines(file).toSorted((a, b) => `${a.id} ${a.sample}`.localeCompare(`${b.id} ${b.sample}`));
const tokensIn = (name: string) => byId(`${name}/responses.jsonl`).map(({ id, tokenIds }) => [id, tokenIds]);
const textsIn = (name: string) =>
  byId(`${name}/samples.jsonl`).map(({ id, sample, text }) => [id, sample, text]);

async function upstream(options: EngineUpstreamOptions, port = 0): Promise<EngineUpstream> {
  const engine = await sharedReasoner();
  const server = await EngineUpstream.start(engine, options, port);
  onTestFinished(() => server.close());
  return server;
}

const VLLM = { tokenIds: true, logprobs: true, continues: true, completions: true };
const of = (url: string): string[] => ['--upstream', url, '--upstream-model', 'reasoner'];

describe('responses that a server writes', () => {
  it('are those of the engine, with the server’s log-probabilities', async () => {
    expect((await run('own')).code).toBe(0);
    const server = await upstream(VLLM);
    const { code, stderr } = await run('vllm', ...of(server.url));
    expect(code, stderr).toBe(0);
    expect(tokensIn('vllm')).toEqual(tokensIn('own'));
    expect(textsIn('vllm')).toEqual(textsIn('own'));
    for (const { tokenIds, logprobs } of lines('vllm/responses.jsonl'))
      expect([logprobs].flat()).toHaveLength([tokenIds].flat().length);
    // The prompt went as ids, so that nothing else was read.
    expect(server.asked.every(({ prompt }) => Array.isArray(prompt))).toBe(true);
    const engine = await run('vllm');
    expect(engine.stderr).toContain('contains a run with another writer');
  });

  it('are planned by the speed of the server', async () => {
    const server = await upstream(VLLM);
    const args = ['bench', 'plan', ...RUN, ...of(server.url), '--json', '--out', folder.path('planned')];
    const { code, stdout, stderr } = await flinch(args);
    expect([code, stderr]).toEqual([0, '']);
    const plan: Plan = JSON.parse(stdout);
    // It wrote the beginnings of all four responses.
    expect(server.asked.length).toBeGreaterThanOrEqual(4);
    expect(plan.speed.written).toBeGreaterThan(0);
    const { expected, seconds } = plan.stages.find(({ stage }) => stage === 'generate')!;
    expect(expected).toBe(4);
    expect(seconds).toBeCloseTo((4 * plan.speed.responseTokens) / plan.speed.written!, 6);
    expect(readdirSync(folder.path('planned'))).toEqual(['speed.json']);
  });

  it('are waited for while the server is gone', async () => {
    const port = await freePort();
    const running = run('waited', ...of(`http://127.0.0.1:${port}/v1`), '--limit', '1');
    await upstream(VLLM, port);
    const { code, stderr } = await running;
    expect(code, stderr).toBe(0);
  });

  it('are taken as text where it tells no ids', async () => {
    const server = await upstream({ logprobs: true });
    const { code, stderr } = await run('text', ...of(server.url));
    expect(code, stderr).toBe(0);
    expect(server.asked.every(({ messages }) => messages !== undefined)).toBe(true);
    expect(lines('text/scores.jsonl')).toHaveLength(4);
  });

  it('are refused if the server reads another prompt', async () => {
    const server = await upstream({ tokenIds: true, logprobs: true, system: 'Answer in French.' });
    const { code, stderr } = await run('template', ...of(server.url));
    expect(code).toBe(1);
    expect(stderr).toMatch(/--upstream: http:\S+: the server's chat template reads tasks-\S+ otherwise than/);
  });

  it('are refused if other weights wrote them', async () => {
    const server = await upstream(VLLM);
    const model = changedReasoner(folder.path('changed'), (weights) => {
      for (const [i, weight] of weights.entries()) weights[i] = weight * (1 + 1.5 * Math.sin(i));
    });
    const { code, stderr } = await run('weights', ...of(server.url), '--model', model);
    expect(code).toBe(1);
    expect(stderr).toMatch(/tasks-\S+: --model did not write this response: its log-probabilities differ/);
  });

  it('names the option that is wrong', async () => {
    const wrong = async (...more: string[]) => (await run('wrong', ...more)).stderr;
    expect(await wrong('--upstream', 'http://localhost:9/v1')).toContain('--upstream-model: is required');
    expect(await wrong('--upstream-model', 'x')).toContain('--upstream: is required with --upstream-model');
    expect(await wrong(...of('localhost'))).toContain('--upstream: ');
    expect(await wrong(...of('http://localhost:9/v1'), '--upstream-key-env', 'NO_SUCH_KEY')).toContain(
      '--upstream-key-env.key_env: the variable NO_SUCH_KEY is not set',
    );
    expect(await wrong(...of('http://localhost:9/v1'), '--responses', 'x')).toContain(
      '--responses: cannot be used with --upstream',
    );
  });
});

describe('responses in a file', () => {
  const requests = async (name: string) => {
    const file = folder.path('requests.jsonl');
    const plan = ['bench', 'plan', ...RUN, '--out', folder.path(name), '--requests', file];
    const { code, stderr } = await flinch(plan);
    expect(code, stderr).toBe(0);
    return lines('requests.jsonl');
  };

  it('are asked for by a plan, and come to the same', async () => {
    const written = new Map<unknown, object>();
    for (const { id, tokenIds } of lines('own/responses.jsonl'))
      written.set(`${id} 0`, { id, token_ids: tokenIds, finish_reason: 'stop' });
    for (const { id, sample, text, finish } of lines('own/samples.jsonl'))
      written.set(`${id} ${sample}`, { id, sample, text, finish_reason: finish });
    let text = '';
    const answer = (asked: Record<string, unknown>[]): string => {
      for (const { id, sample, prompt_token_ids } of asked)
        text += `${JSON.stringify({ ...written.get(`${id} ${sample}`), prompt_token_ids })}\n`;
      return folder.write('responses.jsonl', text);
    };
    const first = await requests('file');
    expect(first.map(({ sample }) => sample)).toEqual([0, 0, 0, 0]);
    expect(first[0]).toMatchObject({ temperature: 1, top_p: 1 });
    const file = answer(first);
    expect((await run('file', '--responses', file)).stderr).toMatch(
      /--responses: the file has not a further response to "tasks-\S+", and 3 others; flinch bench plan --requests/,
    );
    const second = await requests('file');
    expect(second.map(({ sample }) => sample)).toEqual([1, 1, 1, 1]);
    answer(second);
    const { code, stderr } = await run('file', '--responses', file);
    expect(code, stderr).toBe(0);
    expect(tokensIn('file')).toEqual(tokensIn('own'));
    const scores = (name: string) => byId(`${name}/scores.jsonl`);
    expect(scores('file')).toEqual(scores('own'));
  });

  it('are checked line by line', async () => {
    const [{ id } = { id: '' }] = lines('own/responses.jsonl');
    const wrong = async (...texts: object[]): Promise<string> => {
      const file = folder.write('wrong.jsonl', texts.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return (await run('wrong', '--responses', file)).stderr;
    };
    const good = { id, text: 'x', finish_reason: 'stop' };
    expect(await wrong(good, { id: 'a', text: 'x', finish_reason: 'eos' })).toMatch(
      /wrong.jsonl: line 2: finish_reason/,
    );
    expect(await wrong({ id, finish_reason: 'stop' })).toContain(
      'line 1: token_ids: is required if there is no text',
    );
    expect(await wrong({ ...good, token_ids: [5, 6], logprobs: [-1] })).toContain(
      'line 1: logprobs: must have one',
    );
    expect(await wrong(good, good)).toContain('sample 0, is given twice');
    expect(await wrong({ ...good, prompt_token_ids: [1] })).toContain(
      `${JSON.stringify(id)}: prompt_token_ids: are not`,
    );
    expect(await wrong({ ...good, token_ids: [100_000] })).toContain(
      'token_ids: the vocabulary of --model has',
    );
    expect(await wrong({ ...good, token_ids: [40, 41] })).toContain('text: is not what token_ids spell');
    expect(await run('wrong', '--responses', folder.path('none.jsonl'))).toMatchObject({
      stderr: expect.stringContaining('none.jsonl: there is no such file'),
    });
  });
});
