import { cpSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { benchData, useBenchRuns } from '../../support/bench-runs.js';
import { flinch, start } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const OPTIONS = [
  ...['--model', REASONER, '--suite', 'tasks', '--subsets', 'heights,truth,counting'],
  ...['--limit', '20', '--seed', '11', '--temperature', '1'],
  ...['--measures', 'adversarial,nll,self_consistency:samples=1', '--per-subset', '2'],
];
const { folder, args, run, lines, evaluation: evaluationOf } = useBenchRuns(...OPTIONS);
const FILES = ['responses', 'checks', 'spans', 'samples', 'scores'];

/** Lines of all stages. */
const recordsIn = (name: string): number => FILES.flatMap((file) => lines(name, file)).length;

async function killAt(records: number, name: string): Promise<void> {
  const { child, finished } = start(args(name));
  while (child.exitCode === null && recordsIn(name) < records) await setTimeout(5);
  child.kill('SIGKILL');
  await finished;
}

describe('flinch bench run', () => {
  it('evaluates what the tasks come to', async () => {
    const { code, stdout, stderr } = await run('whole', '--json');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const evaluation = evaluationOf('whole');
    const [counts] = evaluation.counts;
    const written = lines('whole', 'responses').length;
    expect(written).toBeLessThan(20);
    expect(counts).toMatchObject({ scope: 'all', problems: written, truncated: 0 });
    expect(counts!.correct + counts!.wrong).toBe(written);
    expect(counts!.located).toBeGreaterThan(3);
    expect(JSON.parse(stdout)).toMatchObject({ counts });
    const all = evaluation.tokens.filter(({ scope }) => scope === 'all');
    expect(all.map(({ measure, n }) => [measure, n])).toEqual(
      ['adversarial', 'nll', 'position', 'first', 'chance'].map((measure) => [measure, counts!.located]),
    );
    expect(evaluation.paired).toContainEqual(
      expect.objectContaining({ level: 'token', a: 'adversarial', b: 'nll', test: 'mcnemar', tests: 1 }),
    );
    // Not all are scored: right and wrong responses are not in their ratio.
    expect(evaluation.responses).toEqual([]);
    expect(evaluation.command).toBe(`flinch bench run ${OPTIONS.join(' ').replace(REASONER, '<reasoner>')}`);
    expect(evaluation.model).toMatchObject({ name: 'reasoner', parameters: 2_558_400 });
  });

  it('asks no more once a subset has its wrong responses', () => {
    const right = new Map(lines('whole', 'checks').map(({ id, correct }) => [id, correct === true]));
    const subsets = new Map<unknown, boolean[]>();
    for (const { id, subset } of lines('whole', 'problems')) {
      const mine = subsets.get(subset) ?? [];
      subsets.set(subset, mine);
      if (right.has(id)) mine.push(right.get(id)!);
    }
    for (const [subset, outcomes] of subsets) {
      const before = outcomes.slice(0, -1);
      expect(before.filter((right) => !right).length, `${subset}: ${outcomes}`).toBeLessThan(2);
    }
  });

  it('comes to the same however often it is killed, and repeats nothing', async () => {
    const total = recordsIn('whole');
    const points = Array.from({ length: 5 }, () => Math.floor(Math.random() * total)).sort((a, b) => a - b);
    for (const records of points) await killAt(records, 'killed');
    const { code, stderr } = await run('killed');
    expect([code, stderr], `killed at ${points}`).toEqual([0, '']);
    expect(evaluationOf('killed'), `killed at ${points}`).toEqual(evaluationOf('whole'));
    expect(recordsIn('killed')).toBe(total);
  });

  it('forgets a line that was half written in any of its files', async () => {
    const before = evaluationOf('whole');
    for (const file of FILES) {
      const path = folder.path(`whole/${file}.jsonl`);
      const [last] = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-1);
      truncateSync(path, readFileSync(path).length - Math.ceil(Buffer.byteLength(last!) / 2));
    }
    const { code } = await run('whole');
    expect(code).toBe(0);
    expect(evaluationOf('whole')).toEqual(before);
  });

  it('refuses other settings by name, and leaves what is there alone', async () => {
    const before = recordsIn('whole');
    const { code, stderr } = await run('whole', '--temperature', '0.6');
    expect(code).toBe(1);
    expect(stderr).toContain('contains a run with another temperature: 1, not 0.6');
    expect(recordsIn('whole')).toBe(before);
  });

  it('names the option of a folder that is none', async () => {
    folder.write('file', '');
    expect((await run('file')).stderr).toContain('flinch: --out: ');
    expect((await run('none', '--cross-encoder', folder.path('.'))).stderr).toContain(
      'flinch: --cross-encoder: ',
    );
  });

  it('says that measures wait for further responses', async () => {
    const stages = ['--stages', 'generate,check,score', '--score', 'all', '--limit', '2'];
    expect((await run('unsampled', ...stages)).stderr).toContain('require the stage sample before score');
  });

  it('does not go on with scores of another version', async () => {
    cpSync(folder.path('whole'), folder.path('old'), { recursive: true });
    const settings = folder.read('whole/settings.json');
    folder.write('old/settings.json', settings.replace(/"scoring": \d+,/, '"scoring": 1,'));
    const { code, stderr } = await run('old');
    expect(code).toBe(1);
    expect(stderr).toContain('the scores are of version 1, but this program computes version');
    const votes = await flinch(['bench', 'vote', folder.path('old')]);
    expect(votes.code).toBe(1);
    expect(votes.stderr).toContain('settings.json: scoring: the scores are of version 1');
  });

  it('ends on Ctrl-C with a word on how to go on', async () => {
    const { child, finished } = start(args('interrupted'));
    while (child.exitCode === null && recordsIn('interrupted') < 3) await setTimeout(5);
    child.kill('SIGINT');
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([130, 'flinch: interrupted; the same command continues\n']);
    expect(existsSync(folder.path('interrupted/.run.lock'))).toBe(false);
  });

  it('says what a suite needs before anything is asked', async () => {
    const gsm8k = ['--suite', 'gsm8k', '--data', benchData('gsm8k'), '--out', folder.path('none')];
    const needs = (...more: string[]) => flinch(['bench', 'run', ...gsm8k, ...more]);
    expect((await needs()).stderr).toContain(
      '--judge: is required, because only a judge can locate the first wrong step',
    );
    expect((await needs('--stages', 'generate,check,score')).stderr).toContain('--score');
    expect((await needs('--judge', 'http://localhost:9/v1')).stderr).toContain('--judge-model: is required');
    expect((await needs('--stages', 'generate,check', '--check', 'judge')).stderr).toContain(
      '--judge: is required with --check judge',
    );
    expect((await needs('--measures', 'nll,nothing')).stderr).toContain('unknown method "nothing"');
    expect(existsSync(folder.path('none'))).toBe(false);
  });

  it('times each measure beside the writing, where it is asked to', async () => {
    const { code } = await run('whole', '--time', '1');
    expect(code).toBe(0);
    const [time] = lines('whole', 'times');
    expect(Object.keys(time!.measures ?? {})).toEqual(['adversarial', 'nll', 'self_consistency:samples=1']);
    const { efficiency } = evaluationOf('whole');
    expect(efficiency.map(({ measure, n }) => [measure, n])).toEqual([
      ['adversarial', 1],
      ['nll', 1],
      ['self_consistency:samples=1', 1],
    ]);
    expect(efficiency.every(({ relative }) => relative.value! > 0)).toBe(true);
  });
});
