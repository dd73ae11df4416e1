import { cpSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LocatedRecord, ResponseRecord, RolloutRecord } from '#bench/records/records.js';
import { responseSteps } from '#bench/steps/response-steps.js';
import type { BenchProblem } from '#bench/suites/suite.js';
import { suites } from '#bench/suites/suites.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch, start } from '../../support/cli.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../support/engine-upstream.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const K = 3;
const { folder, args, run, ...runs } = useBenchRuns(
  ...['--model', REASONER, '--suite', 'tasks', '--limit', '60', '--seed', '7'],
  ...['--temperature', '1', '--measures', 'nll', '--streams', '1'],
  ...['--label', 'rollouts', '--rollouts', String(K)],
);
const WRITTEN = ['--stages', 'generate,check'];
const LOCATED = ['--stages', 'generate,check,locate'];

const lines = <T extends { readonly id: string }>(name: string, file: string): T[] =>
  runs.lines<T>(name, file).toSorted((a, b) => a.id.localeCompare(b.id));
const spans = (name: string) => lines<LocatedRecord>(name, 'spans');
/** What was drawn, in a fixed order, without times. */
const drawn = (name: string) =>
  lines<RolloutRecord>(name, 'rollouts')
    .map(({ id, prefix, sample, text, correct }) => `${id} ${prefix} ${sample} ${correct} ${text}`)
    .toSorted();

/** Responses of one process, which others of these tests start from. */
async function written(name: string): Promise<void> {
  if (!existsSync(folder.path('written'))) expect((await run('written', ...WRITTEN)).code).toBe(0);
  cpSync(folder.path('written'), folder.path(name), { recursive: true });
}

describe('a run whose first wrong steps rollouts tell', () => {
  it('labels by its own completions, checked by the rules of the suite', async () => {
    await written('whole');
    const { code, stdout, stderr } = await run('whole');
    expect(code, stderr).toBe(0);
    const labels = spans('whole');
    const wrong = lines<{ id: string; correct: boolean }>('whole', 'checks').filter((one) => !one.correct);
    expect(labels.map(({ id }) => id)).toEqual(wrong.map(({ id }) => id));
    const found = labels.filter(({ span }) => span);
    expect(stdout).toContain(
      `${found.length} first wrong steps, labels by rollouts (K=3); ${labels.length - found.length} not found`,
    );
    // Else the test shows little.
    expect(found.length).toBeGreaterThan(2);
    expect(found.length).toBeLessThan(labels.length);

    const problems = new Map(lines<BenchProblem>('whole', 'problems').map((one) => [one.id, one]));
    const responses = new Map(lines<ResponseRecord>('whole', 'responses').map((one) => [one.id, one]));
    for (const { id, span, by, rejected, rollouts } of labels) {
      const { tokenTexts } = responses.get(id)!;
      const steps = responseSteps(tokenTexts, 'sentence');
      const all = lines<RolloutRecord>('whole', 'rollouts').filter((one) => one.id === id);
      for (const { prefix, text, correct, finish } of all) {
        const before = tokenTexts.slice(0, steps[prefix]!.tokens.start).join('');
        const { correct: right } = suites.tasks.check(problems.get(id)!, before + text)!;
        expect(correct).toBe(finish === 'stop' && right);
      }
      const last = Math.max(...all.map(({ prefix }) => prefix));
      const reached = (prefix: number) => all.some((one) => one.prefix === prefix && one.correct);
      for (let prefix = 0; prefix < last; prefix += 1) expect(reached(prefix)).toBe(true);
      const step = reached(last) ? last : last - 1;
      if (!reached(last)) expect(all.filter(({ prefix }) => prefix === last)).toHaveLength(K);
      else expect(last).toBe(steps.length - 1);
      expect(by).toBe('rollouts');
      expect([span, rejected]).toEqual(
        step < 0 ? [null, 'not_reached'] : [[...steps[step]!.span], undefined],
      );
      expect(rollouts).toMatchObject({ rollouts: K });
      expect(rollouts!.tokens).toBe(all.reduce((sum, { tokens }) => sum + tokens, 0));
      expect(rollouts!.prefixes.reduce((sum, one) => sum + one.drawn, 0)).toBe(all.length);
    }

    const report = await flinch(['bench', 'report', folder.path('whole'), '--out', folder.path('report')]);
    expect(report.code, report.stderr).toBe(0);
    expect(folder.read('report/report.html')).toContain('First wrong steps are labels by rollouts (K=3)');
  });

  it('goes on after kills, and draws nothing twice', async () => {
    await written('killed');
    for (const after of [1, 7, 15]) {
      const { child, finished } = start(args('killed', ...LOCATED));
      while (child.exitCode === null && drawn('killed').length < after) await setTimeout(5);
      child.kill('SIGKILL');
      await finished;
    }
    const kept = folder.read('killed/rollouts.jsonl').split('\n').slice(0, -1);
    expect(kept.length).toBeGreaterThanOrEqual(15);
    expect(kept.length).toBeLessThan(drawn('whole').length);
    const { code, stderr } = await run('killed', ...LOCATED);
    expect(code, stderr).toBe(0);
    expect(folder.read('killed/rollouts.jsonl').split('\n').slice(0, kept.length)).toEqual(kept);
    expect(drawn('killed')).toEqual(drawn('whole'));
    expect(spans('killed')).toEqual(spans('whole'));
    const before = folder.read('killed/rollouts.jsonl');
    expect((await run('killed', ...LOCATED)).code).toBe(0);
    expect(folder.read('killed/rollouts.jsonl')).toBe(before);
  });
});

async function upstream(options: EngineUpstreamOptions): Promise<EngineUpstream> {
  const server = await EngineUpstream.start(await sharedReasoner(), options);
  onTestFinished(() => server.close());
  return server;
}
const by = (url: string): string[] => ['--completer', url, '--completer-model', 'other'];

describe('a server that goes on with responses', () => {
  it('gets their beginnings as text, and comes to the labels of the engine', async () => {
    await written('server');
    const server = await upstream({ continues: true });
    const { code, stderr } = await run('server', ...LOCATED, ...by(server.url));
    expect(code, stderr).toBe(1);
    expect(stderr).toContain('contains a run with another label');
    const own = ['server-run', ...LOCATED, ...by(server.url)] as const;
    expect((await run(...own)).code).toBe(0);
    expect(spans('server-run')).toEqual(spans('whole'));
    expect(drawn('server-run')).toEqual(drawn('whole'));
    expect(server.asked).toHaveLength(drawn('whole').length);
    const begun = server.asked.filter(({ continue_final_message }) => continue_final_message);
    expect(begun).toHaveLength(lines<RolloutRecord>('whole', 'rollouts').filter((o) => o.prefix > 0).length);
    expect(JSON.parse(folder.read('server-run/settings.json')).label.completer).toBe('other');
  });

  it('is the one that writes, if there is one', async () => {
    const server = await upstream({ tokenIds: true, logprobs: true, continues: true, completions: true });
    const { code, stderr } = await run(
      ...['upstream', ...LOCATED, '--limit', '12', '--upstream', server.url, '--upstream-model', 'same'],
    );
    expect(code, stderr).toBe(0);
    expect(spans('upstream').length).toBeGreaterThan(0);
    // It writes responses after ids, and completions in a chat.
    expect(server.asked.filter(({ messages }) => messages)).toHaveLength(drawn('upstream').length);
    expect(JSON.parse(folder.read('upstream/settings.json')).label.completer).toBe('same');
  });

  it('must be able to', async () => {
    const server = await upstream({ logprobs: true });
    const { code, stderr } = await run('unable', ...LOCATED, '--limit', '12', ...by(server.url));
    expect(code).toBe(1);
    expect(stderr).toContain(
      `--completer: ${server.url}: the server cannot go on with a response that has begun`,
    );
  });
});

describe('options of rollouts', () => {
  it('are refused by their names', async () => {
    const refusal = async (...more: string[]): Promise<string> => {
      const { code, stderr } = await run('refused', ...more);
      expect(code).not.toBe(0);
      expect(existsSync(folder.path('refused'))).toBe(false);
      return stderr;
    };
    expect(await refusal('--label', 'people')).toMatch(/--label.*Allowed choices are judge, rollouts/);
    expect(await refusal('--rollouts', '0')).toContain('--rollouts');
    expect(await refusal('--completer', 'http://localhost:9/v1')).toContain('--completer-model: is required');
    expect(await refusal('--completer-model', 'x')).toContain('--completer: is required with');
    expect(await refusal(...by('localhost'))).toContain('--completer: ');
    expect(await refusal('--label', 'judge', ...by('http://localhost:9/v1'))).toContain(
      '--label: must be rollouts with --completer',
    );
    expect(await refusal('--label', 'judge')).toContain('--judge: is required');
    expect(await refusal('--suite', 'processbench')).toContain('--label: processbench has labels of people');
    expect(await refusal('--suite', 'factscore')).toContain('--label: factscore has claims');
  });
});
