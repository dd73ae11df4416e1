import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Plan } from '#bench/run/plan/plan.js';
import { benchData as data, useBenchRuns } from '../../support/bench-runs.js';
import { judgeServer } from '../../support/judge-server.js';

const { folder, run: start, lines } = useBenchRuns();

const FILES = {
  generate: 'responses',
  check: 'checks',
  locate: 'spans',
  claims: 'claims',
  sample: 'samples',
  graph: 'graphs',
  score: 'scores',
};

/** Lines that a run has written, by stage. */
const linesIn = (name: string) =>
  Object.fromEntries(Object.entries(FILES).map(([stage, file]) => [stage, lines(name, file).length]));

const planOf = async (args: readonly string[], name: string): Promise<Plan> => {
  const { code, stdout, stderr } = await start(name, '--plan', ...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const run = async (args: readonly string[], name: string): Promise<string> => {
  const { code, stderr } = await start(name, ...args);
  expect(code, stderr).toBe(0);
  return stderr;
};

async function compare(name: string, args: readonly string[]): Promise<Plan> {
  const before = await planOf(args, name);
  expect(existsSync(folder.path(name))).toBe(false);
  expect(before.seconds).toBeGreaterThan(0);
  await run(args, name);
  const lines = linesIn(name);
  const after = await planOf(args, name);
  for (const { stage, expected, done } of after.stages)
    expect([stage, expected, done]).toEqual([stage, 0, lines[stage]]);

  // Once the responses are there, the rest is known.
  const part = `${name}-part`;
  await run([...args, '--stages', 'generate,check,locate'], part);
  const { stages } = await planOf(args, part);
  for (const { stage, expected, done } of stages)
    expect([stage, expected]).toEqual([stage, lines[stage]! - done]);
  return before;
}

describe('flinch bench run --plan', () => {
  it('says what a run over tasks does, with a limit of wrong responses', async () => {
    const args = ['--suite', 'tasks', '--limit', '24', '--seed', '11', '--temperature', '1'];
    const measures = ['--measures', 'nll,graph:samples=2', '--per-subset', '2'];
    const { stages } = await compare('tasks', [...args, ...measures]);
    expect(stages.map(({ stage }) => stage)).toEqual(['generate', 'check', 'locate', 'sample', 'score']);
  });

  it('says what a run over labelled responses does, which are read', async () => {
    const args = ['--suite', 'processbench', '--subsets', 'gsm8k', '--data', data('processbench')];
    const { stages } = await compare('labelled', [...args, '--max-tokens', '64']);
    expect(stages.map(({ stage, expected }) => [stage, expected])).toEqual([
      ['generate', 3],
      ['check', 3],
      ['locate', 2],
      ['score', 2],
    ]);
  });

  it('says how much a judge is asked', async () => {
    const server = await judgeServer((prompt) => {
      if (!prompt.includes('<analysis>')) return 'The first sentence is wrong.';
      const [, response = ''] = /<response>\n(.*?)\n<\/response>/s.exec(prompt) ?? [];
      return JSON.stringify({ step: response.split('\n')[0] });
    });
    const args = ['--suite', 'gsm8k', '--data', data('gsm8k'), '--seed', '3', '--temperature', '0'];
    const judge = ['--judge', server.url, '--judge-model', 'wise', '--max-tokens', '300'];
    const { stages } = await compare('judged', [...args, ...judge, '--measures', 'nll', '--streams', '1']);
    const locate = stages.find(({ stage }) => stage === 'locate')!;
    expect(locate).toMatchObject({ seconds: null, requests: 2 * locate.expected });
  });

  it('says how often a judge is asked for claims and their graphs', async () => {
    const server = await judgeServer((prompt) => {
      if (prompt.includes('<sentence>')) return '{"claims": [{"claim": "It is so."}]}';
      if (prompt.includes('{"claims"')) return '{"claims": ["It is not so."]}';
      return prompt.includes('{"new"') ? '{"new": [1]}' : '{"supported": true}';
    });
    const args = ['--suite', 'factscore', '--data', data('factscore'), '--seed', '3', '--max-tokens', '300'];
    const judge = ['--judge', server.url, '--judge-model', 'wise', '--streams', '1'];
    const all = [...args, ...judge, '--measures', 'nll,graph-claims:samples=2'];
    const { stages } = await compare('claims', all);
    expect(Object.fromEntries(stages.map(({ stage, expected }) => [stage, expected]))).toEqual({
      generate: 3,
      claims: 3,
      sample: 6,
      graph: 3,
      score: 3,
    });
    const judged = stages.filter(({ requests }) => requests !== null).map(({ stage }) => stage);
    expect(judged).toEqual(['claims', 'graph']);

    await run([...all, '--stages', 'generate,claims,sample'], 'graphs');
    const before = server.requests.length;
    const { stages: left } = await planOf(all, 'graphs');
    const { requests } = left.find(({ stage }) => stage === 'graph')!;
    expect(requests).toBe(3 * (2 + 2 + 3 * 2));
    expect(server.requests).toHaveLength(before);
    await run([...all, '--stages', 'graph'], 'graphs');
    // Responses of the same words are asked about once, and a claim that is known needs no judge.
    const asked = server.requests.length - before;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(requests! - 3);
  });

  it('is said in words, and refused where a run would be', async () => {
    const args = ['--suite', 'tasks', '--limit', '12', '--measures', 'nll'];
    const { stdout } = await start('said', '--plan', ...args);
    expect(stdout).toMatch(
      /^plan: 12 problems of tasks, reasoner on cpu\n {2}generate {2}12 responses {2,}\S/,
    );
    expect((await start('said', ...args)).code).toBe(0);
    expect((await start('said', '--plan', ...args)).stdout).toContain('generate  0 responses, 12 done');
    const other = await start('said', '--plan', ...args, '--seed', '2');
    expect(other.stderr).toContain('contains a run with another seed: 1, not 2');
  });
});
