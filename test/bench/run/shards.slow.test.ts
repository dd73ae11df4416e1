import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Evaluation, evaluationSchema } from '#bench/records/evaluation.js';
import { flinch, jsonLines, start, useFolder } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const folder = useFolder();

const RUN = [
  ...[
    'bench',
    'run',
    '--model',
    REASONER,
    '--suite',
    'tasks',
    '--subsets',
    'story,percent,counting,heights,truth',
  ],
  ...['--limit', '60', '--seed', '11', '--temperature', '1'],
  ...['--measures', 'nll,graph:samples=1', '--score', '1', '--per-subset', '2'],
];
const WRITING = ['--stages', 'generate,check,locate'];
const SCORING = ['--stages', 'sample,score'];
const OF = 4;
const shards = Array.from({ length: OF }, (_, i) => i + 1);

const out = (name: string): string[] => ['--out', folder.path(name)];
const run = (name: string, ...more: string[]) => flinch([...RUN, ...out(name), ...more]);
const runShard = (name: string, shard: number, ...more: string[]) =>
  run(name, '--shard', `${shard}/${OF}`, ...more);
const merge = (name: string, ...more: string[]) => flinch(['bench', 'merge', folder.path(name), ...more]);
const status = (name: string, ...more: string[]) => flinch(['bench', 'status', folder.path(name), ...more]);
const place = (name: string, shard: number): string => join(name, 'shards', `${shard}-of-${OF}`);
const evaluationOf = (name: string): Evaluation =>
  evaluationSchema.parse(JSON.parse(folder.read(join(name, 'evaluation.json'))));
const idsIn = (file: string): unknown[] => jsonLines(folder.read(file)).map(({ id }) => id);

const recordsIn = (name: string): number =>
  existsSync(folder.path(name))
    ? readdirSync(folder.path(name))
        .filter((file) => file.endsWith('.jsonl') && file !== 'problems.jsonl')
        .reduce((sum, file) => sum + folder.read(join(name, file)).split('\n').length - 1, 0)
    : 0;

/** Begins a stage of a shard, and kills it once it has added some records. */
async function killed(name: string, shard: number, stages: readonly string[], after: number): Promise<void> {
  const before = recordsIn(place(name, shard));
  const { child, finished } = start([...RUN, ...out(name), '--shard', `${shard}/${OF}`, ...stages]);
  while (child.exitCode === null && recordsIn(place(name, shard)) < before + after) await setTimeout(5);
  child.kill('SIGKILL');
  await finished;
}

describe('shards of a run', () => {
  it('come to the tables of one run, stage by stage, after kills', async () => {
    expect((await run('whole')).code).toBe(0);
    const random = (): number => Math.floor(Math.random() * 8);
    for (const stages of [WRITING, SCORING]) {
      await Promise.all([killed('parts', 1, stages, random()), killed('parts', 3, stages, random())]);
      await killed('parts', 2, stages, random());
      await killed('parts', 1, stages, random());
      await killed('parts', 4, stages, random());
      for (const shard of shards) {
        const { code, stderr } = await runShard('parts', shard, ...stages);
        expect(code, stderr).toBe(0);
      }
      const { code, stdout, stderr } = await merge('parts');
      expect(code, stderr).toBe(0);
      if (stages === SCORING) continue;
      expect(stdout).toMatch(
        /^\d+ responses are joined in \S+; left to do:\n {2}sample \d+\n {2}score \d+\n$/,
      );
      // They stopped when all of them together had enough.
      const [joined, alone] = ['parts', 'whole'].map((name) => idsIn(`${name}/responses.jsonl`));
      expect(joined).toEqual(expect.arrayContaining(alone!));
      expect(joined!.length).toBeLessThan(Math.min(60, 3 * alone!.length));
    }
    expect(evaluationOf('parts')).toEqual(evaluationOf('whole'));
    // No more was scored than one run does.
    expect(idsIn('parts/scores.jsonl').toSorted()).toEqual(idsIn('whole/scores.jsonl').toSorted());

    const again = folder.read('parts/scores.jsonl');
    expect((await merge('parts')).code).toBe(0);
    expect(folder.read('parts/scores.jsonl')).toBe(again);
    expect((await status('parts')).stdout).toContain('shard 4 of 4  finished');
  });

  it('may be run one after the other, all stages at once', async () => {
    for (const shard of [2, 1]) {
      const { code, stdout } = await run('halves', '--shard', `${shard}/2`, '--json');
      expect([code, JSON.parse(stdout)]).toEqual([0, { folder: folder.path('halves'), shard, of: 2 }]);
    }
    const { code, stderr } = await merge('halves');
    expect(code, stderr).toBe(0);
    expect(evaluationOf('halves')).toEqual(evaluationOf('whole'));
  });

  it('are refused where they do not belong together', async () => {
    const refusal = async (): Promise<string> => {
      const { code, stderr } = await merge('odd');
      expect(code).toBe(1);
      return stderr;
    };
    const two = (shard: number): string => folder.path(`odd/shards/${shard}-of-2`);
    expect(await refusal()).toContain('contains no shards of a run');
    cpSync(folder.path('halves/shards/1-of-2'), two(1), { recursive: true });
    expect(await refusal()).toMatch(/shard 2 of 2 is missing: \S+2-of-2/);
    cpSync(two(1), two(2), { recursive: true });
    expect(await refusal()).toContain('2-of-2: contains shard 1 of 2');
    rmSync(two(2), { recursive: true });
    cpSync(folder.path('halves/shards/2-of-2'), two(2), { recursive: true });
    renameSync(join(two(2), 'finished.json'), join(two(2), 'kept.json'));
    expect(await refusal()).toContain('2-of-2: was not run to its end; run it again');
    expect((await status('odd')).stdout).toContain('shard 2 of 2  stopped');
    renameSync(join(two(2), 'kept.json'), join(two(2), 'finished.json'));
    const settings = folder.read('odd/shards/2-of-2/settings.json');
    folder.write('odd/shards/2-of-2/settings.json', settings.replace('"topP": 1', '"topP": 0.9'));
    expect(await refusal()).toMatch(/2-of-2: has another topP than \S+1-of-2/);
    const { stderr } = await run('parts', '--shard', '1/8', '--temperature', '0.5');
    expect(stderr).toContain('contains a run with another temperature');
    expect(existsSync(folder.path('odd/responses.jsonl'))).toBe(false);
  });

  it('say how far they are', async () => {
    expect((await runShard('begun', 2, ...WRITING)).code).toBe(0);
    const { stdout } = await status('begun', '--json');
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ suite: 'tasks', model: 'reasoner', problems: 60 });
    expect(told.shards.map(({ state }: { state: string }) => state)).toEqual([
      ...['not begun', 'finished', 'not begun', 'not begun'],
    ]);
    expect(told.shards[1].done.generate).toBe(idsIn(`${place('begun', 2)}/responses.jsonl`).length);
    expect((await status('nowhere')).stderr).toContain('is not a run folder of flinch bench');
  });
});
