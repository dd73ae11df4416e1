import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { benchData, useBenchRuns } from '../../support/bench-runs.js';
import { checkpointFolder } from '../../support/golden.js';
import { HAS_SHARED_DATA, NEEDS_DATA, SHARED_DATA } from '../../support/shared-data.js';

const { folder, run, lines, evaluation: evaluationOf } = useBenchRuns('--suite', 'processbench');
const DATA = benchData('processbench');

describe('a run over ProcessBench', () => {
  it('scores given responses by teacher forcing, step by step as they came', async () => {
    const { code, stdout, stderr } = await run(
      ...['own', '--subsets', 'gsm8k', '--data', DATA, '--score', 'all', '--max-tokens', '64'],
      ...['--measures', 'adversarial,nll,graph,ccp'],
    );
    expect([code, stderr]).toEqual([0, '']);
    // Others wrote them: how many are right says nothing of the model.
    expect(stdout).toContain('3 problems: 1 right, 2 wrong, 0 unsure, 0 cut off\n2 first wrong steps\n');
    expect(stdout).toContain('first wrong steps score higher than right ones');
    const [one, two, three] = JSON.parse(readFileSync(join(DATA, 'gsm8k.json'), 'utf8'));
    const given = [one, three, two]; // as the suite shuffles them

    const responses = lines('own', 'responses');
    expect(responses.map(({ tokenTexts }) => [tokenTexts].flat().join(''))).toEqual(
      given.map(({ steps }: { steps: string[] }) => steps.join('\n\n')),
    );
    expect(responses.every(({ finish }) => finish === 'given')).toBe(true);
    expect(lines('own', 'checks').map(({ correct }) => correct)).toEqual([false, false, true]);
    const [first, third] = lines('own', 'spans');
    expect(first).toEqual({ id: 'gsm8k-0', by: 'labels', span: [25, 25 + given[0].steps[1].length] });
    expect(third).toMatchObject({ id: 'gsm8k-2', span: [0, three.steps[0].length] });
    expect(lines('own', 'scores').map(({ steps }) => [steps].flat().length)).toEqual(
      given.map(({ steps }: { steps: string[] }) => steps.length),
    );

    const evaluation = evaluationOf('own');
    expect(evaluation.counts).toEqual([
      expect.objectContaining({ problems: 3, correct: 1, wrong: 2, located: 2 }),
    ]);
    expect(evaluation.responses.map(({ positives, n }) => [positives, n])).toContainEqual([2, 3]);
    expect(evaluation.steps.find(({ measure }) => measure === 'graph-lexical')).toMatchObject({
      aggregation: 'own',
      n: 2,
    });
  });

  it('leaves out, and counts, what the tokenizer does not give back', async () => {
    const given = JSON.parse(readFileSync(join(DATA, 'gsm8k.json'), 'utf8'));
    // Its tokenizer composes the letter.
    given[0].steps[0] = `Cafe\u0301: ${given[0].steps[0]}`;
    const data = folder.path('composed');
    mkdirSync(data);
    writeFileSync(join(data, 'gsm8k.json'), JSON.stringify(given));
    const options = ['--model', longModel(), '--measures', 'nll', '--score', 'all'];
    const { code, stderr } = await run('left-out', '--subsets', 'gsm8k', '--data', data, ...options);
    expect([code, stderr]).toEqual([0, '']);
    const evaluation = evaluationOf('left-out');
    expect(evaluation.counts).toEqual([
      expect.objectContaining({
        problems: 3,
        truncated: 0,
        correct: 1,
        wrong: 1,
        located: 1,
        rejected: { not_encoded: 1 },
      }),
    ]);
  });

  it.skipIf(!HAS_SHARED_DATA)(`reads the real ones${NEEDS_DATA}`, async () => {
    const { code, stderr } = await run(
      ...['real', '--limit', '12', '--data', join(SHARED_DATA, 'processbench')],
      ...['--model', longModel(), '--measures', 'adversarial,nll', '--per-subset', '1'],
    );
    expect([code, stderr]).toEqual([0, '']);
    const evaluation = evaluationOf('real');
    expect(evaluation.counts.map(({ scope, problems, located }) => [scope, problems, located])).toEqual([
      ['all', 4, 4],
      // The first response of each is wrong, and enough.
      ...['gsm8k', 'math', 'olympiadbench', 'omnimath'].map((subset) => [subset, 1, 1]),
    ]);
    expect(evaluation.tokens.map(({ scope }) => scope)).toContain('macro');
  });
});

/** A model that takes long texts: its rotary embedding has no end. */
function longModel(): string {
  const model = folder.path('long');
  cpSync(checkpointFolder('tiny-qwen2'), model, { recursive: true });
  const config = JSON.parse(readFileSync(join(model, 'config.json'), 'utf8'));
  writeFileSync(join(model, 'config.json'), JSON.stringify({ ...config, max_position_embeddings: 8192 }));
  return model;
}
