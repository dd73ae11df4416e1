import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { changedReasoner } from '../../support/changed-model.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../support/engine-upstream.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const { folder, run, lines } = useBenchRuns(
  ...['--model', REASONER, '--suite', 'tasks', '--subsets', 'story,percent,counting,heights,truth'],
  ...['--limit', '4', '--seed', '11', '--temperature', '1', '--score', 'all'],
  ...['--measures', 'adversarial,self_consistency:samples=1', '--streams', '2'],
);
const byId = (name: string, file: string) =>
  lines(name, file).toSorted((a, b) => `${a.id} ${a.sample}`.localeCompare(`${b.id} ${b.sample}`));
const tokensIn = (name: string) => byId(name, 'responses').map(({ id, tokenIds }) => [id, tokenIds]);
const textsIn = (name: string) => byId(name, 'samples').map(({ id, sample, text }) => [id, sample, text]);

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
    for (const { tokenIds, logprobs } of lines('vllm', 'responses'))
      expect([logprobs].flat()).toHaveLength([tokenIds].flat().length);
    // The prompt went as ids, so that nothing else was read.
    expect(server.asked.every(({ prompt }) => Array.isArray(prompt))).toBe(true);
    const engine = await run('vllm');
    expect(engine.stderr).toContain('contains a run with another writer');
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
    expect(lines('text', 'scores')).toHaveLength(4);
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
  });
});
