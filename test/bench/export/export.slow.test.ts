import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { areas } from '#bench/statistics/areas.js';
import { rank } from '#bench/statistics/ranking.js';
import { useBenchRuns } from '../../support/bench-runs.js';
import { flinch } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';

const { folder, run, lines, records, evaluation } = useBenchRuns();
const DOCS = readFileSync('docs/benchmark-files.md', 'utf8');
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(DOCS)![1]!;

/** A Python with pandas, if it is not the one on the PATH. */
const PYTHON = process.env.FLINCH_PANDAS_PYTHON ?? 'python3';
const reads = (program: string, args: readonly string[]): boolean => spawnSync(program, args).status === 0;
const pandas = reads(PYTHON, ['-c', 'import pandas']);
const r = reads('Rscript', ['--version']);

const scored = z.object({
  id: z.string(),
  tokens: z.array(z.int()),
  texts: z.array(z.string()),
  steps: z.array(z.tuple([z.int(), z.int()])),
  wrong: z.array(z.tuple([z.int(), z.int()])),
  scores: z.record(z.string(), z.array(z.number().nullable())),
});

const RUN = 'runs/files';
const tokens = () => records(RUN, 'tokens', scored);

describe('flinch bench export', () => {
  beforeAll(async () => {
    const written = await run(
      ...[RUN, '--model', REASONER, '--suite', 'tasks', '--limit', '40', '--temperature', '1'],
      ...['--score', 'all', '--measures', 'nll,entropy'],
    );
    expect(written.code, written.stderr).toBe(0);
    const { code, stdout, stderr } = await flinch(['bench', 'export', folder.path(RUN)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual(
      ['answers.csv', 'steps.csv', 'tokens.jsonl'].map((name) => folder.path(`${RUN}/${name}`)),
    );
  });

  it('has the columns that the page describes', () => {
    const header = (name: string) => folder.read(`${RUN}/${name}`).split('\n')[0]!.split(',');
    const measured = ['nll', 'entropy'].flatMap((name) =>
      ['max', 'mean', 'sum'].map((how) => `${name}.${how}`),
    );
    const answers = header('answers.csv');
    expect(answers).toEqual(expect.arrayContaining(measured));
    const described = answers.filter((name) => !measured.includes(name));
    for (const name of [...described, ...header('steps.csv').slice(0, 7)])
      expect(DOCS).toContain(`\`${name}\``);
    expect(header('steps.csv').slice(7)).toEqual(answers.slice(described.length));
  });

  it('has the tokens of each response with their scores, as the run has them', () => {
    const all = tokens();
    expect(all).toHaveLength(40);
    for (const { tokens: ids, texts, steps, scores } of all) {
      expect(new Set([ids.length, texts.length, scores.nll!.length, scores.entropy!.length]).size).toBe(1);
      expect([steps[0]![0], steps.at(-1)![1]]).toEqual([0, ids.length]);
    }
    expect(all.some(({ wrong }) => wrong.length > 0)).toBe(true);
  });

  it('scores answers by the scores of their tokens: the same AUROC follows', () => {
    const right = new Map(
      lines<{ id: string; correct: boolean }>(RUN, 'checks').map(({ id, correct }) => [id, correct]),
    );
    const scores = tokens();
    const sums = scores.map(({ scores }) =>
      scores.nll!.reduce<number>((sum, score) => sum + (score ?? 0), 0),
    );
    const { auroc } = areas(
      rank(
        sums,
        scores.map(({ id }) => right.get(id) === false),
      ),
    );
    const row = evaluation(RUN).responses.find(
      ({ scope, measure, aggregation }) => scope === 'all' && measure === 'nll' && aggregation === 'sum',
    )!;
    expect(auroc).toBeCloseTo(row.auroc.value!, 12);
  });

  it.skipIf(!pandas)(`is read by pandas as the page says${pandas ? '' : ' (skipped: no pandas)'}`, () => {
    const more = `
import json
steps = pd.read_csv("runs/files/steps.csv")
print(json.dumps({
  "rows": [len(answers), len(steps), len(tokens)],
  "right": int(answers["right"].sum()),
  "wrong_steps": int((steps["wrong"] == True).sum()),
  "nll": float(answers["nll.sum"].sum()),
  "of_steps": float(steps["nll.sum"].sum()),
  "of_tokens": sum(sum(scores["nll"]) for scores in tokens["scores"]),
  "texts": (steps.groupby("id", sort=False)["text"].sum() == answers.set_index("id")["response"]).all().item(),
}))`;
    const output = execFileSync(PYTHON, ['-c', `${block('python')}${more}`], {
      cwd: folder.path(''),
      encoding: 'utf8',
    });
    const found = JSON.parse(output.trim().split('\n').at(-1)!);
    const [counts] = evaluation(RUN).counts;
    const steps = tokens().reduce((sum, line) => sum + line.steps.length, 0);
    expect(found).toMatchObject({ rows: [40, steps, 40], right: counts!.correct, texts: true });
    expect(found.wrong_steps).toBeGreaterThanOrEqual(counts!.located);
    expect(found.of_steps).toBeCloseTo(found.nll, 9);
    expect(found.of_tokens).toBeCloseTo(found.nll, 9);
  });

  it.skipIf(!r)(`is read by R as the page says${r ? '' : ' (skipped: no Rscript)'}`, () => {
    const output = execFileSync('Rscript', ['-e', block('r')], { cwd: folder.path(''), encoding: 'utf8' });
    expect(output).toContain('nll.mean');
  });

  it('refuses a folder without a run', async () => {
    const { code, stderr } = await flinch(['bench', 'export', folder.path('nowhere')]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('nowhere: is not a run folder of flinch bench'),
    ]);
  });
});
