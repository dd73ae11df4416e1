import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flinch, useFolder } from '../../support/cli.js';
import { judgeServer } from '../../support/judge-server.js';

const folder = useFolder();

/** Responses of four steps whose labels go round; a fifth of them has no mistake. */
const ROWS = Array.from({ length: 50 }, (_, i) => ({
  id: `row-${i}`,
  generator: i % 2 === 0 ? 'one-model' : 'other-model',
  problem: `What is ${i} + 1?`,
  steps: [0, 1, 2, 3].map((step) => `Step ${step} of answer ${i} says that it is ${i + step}.`),
  final_answer_correct: false,
  label: (i % 5) - 1,
}));

/** Which of the wrong responses the judge is wrong about: every tenth one names no step, every tenth the next one. */
const ERRS = { none: 3, later: 7 } as const;

describe('flinch bench judge', () => {
  it('tells how often the judge names the labelled step, by a judge that errs at a known rate', async () => {
    const data = folder.path('data');
    mkdirSync(data);
    writeFileSync(`${data}/gsm8k.json`, JSON.stringify(ROWS));
    const wrong = ROWS.filter(({ label }) => label >= 0);
    const judge = await judgeServer((prompt) => {
      const row = wrong.find(({ steps }) => prompt.includes(steps[0]!))!;
      if (!prompt.includes('<analysis>')) return 'One step is wrong.';
      const place = wrong.indexOf(row) % 10;
      if (place === ERRS.none) return '{"step": null}';
      return JSON.stringify({ step: row.steps[(row.label + (place === ERRS.later ? 1 : 0)) % 4] });
    });
    const args = ['bench', 'judge', '--data', data, '--subsets', 'gsm8k', '--judge', judge.url];
    args.push('--judge-model', 'wise', '--out', folder.path('out'));
    const { code, stdout, stderr } = await flinch(args);
    expect(code, stderr).toBe(0);
    expect(stderr).toBe('judge: 80 requests (8000 tokens read, 560 written), 0 cached, 0 unreadable\n');
    // The fourth step's next is the first, which is earlier.
    expect(stdout).toMatch(
      /\| all +\| +the judge \| +40 \| 0\.800 \[0\.652, 0\.895\] \|[^|]+\| +\d \| +\d \| +4 \|/,
    );
    // One of four steps.
    expect(stdout).toMatch(/\| all +\| +a random step \| +40 \| +0\.250 \|/);
    expect(stdout).toContain('The paper reports 91 % agreement');
    const { rows } = JSON.parse(folder.read('out/agreement.json'));
    expect(rows).toMatchObject([
      { scope: 'all', by: 'the judge', n: 40, agrees: { value: 0.8 }, none: 4 },
      { by: 'a random step' },
      { by: 'first false equation', agrees: { value: 0 }, none: 40 },
    ]);
    expect(rows[0].earlier + rows[0].later).toBe(4);
    // Without a reference answer none is spoken of.
    const prompts = judge.requests.map(({ messages }) => messages[0]!.content);
    expect(prompts.some((prompt) => prompt.includes('correct_answer'))).toBe(false);

    // Nothing is asked twice.
    expect((await flinch(args)).stdout).toBe(stdout);
    expect(judge.requests).toHaveLength(80);

    const one = await flinch([...args, '--generators', 'one-model', '--out', folder.path('one'), '--json']);
    expect(JSON.parse(one.stdout).rows[0]).toMatchObject({ n: 20 });
    const nobody = await flinch([...args, '--generators', 'nobody', '--out', folder.path('nobody')]);
    expect(nobody.stderr).toContain(
      '--generators: no response was written by "nobody"; known: one-model, other-model',
    );
    const other = await flinch([...args, '--judge-model', 'wiser']);
    expect(other.stderr).toContain('contains a run with another judge');
  });
});
