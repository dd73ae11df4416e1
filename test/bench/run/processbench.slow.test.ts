import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { evaluationSchema } from '#bench/records/evaluation.js';
import { flinch, jsonLines, useFolder } from '../../support/cli.js';
import { HAS_SHARED_DATA, NEEDS_DATA, SHARED_DATA } from '../../support/shared-data.js';

const folder = useFolder();
const FIXTURES = fileURLToPath(new URL('../../fixtures', import.meta.url));
const DATA = join(FIXTURES, 'bench/processbench');

describe('a run over ProcessBench', () => {
  it('scores given responses by teacher forcing, step by step as they came', async () => {
    const out = folder.path('own');
    const { code, stdout, stderr } = await flinch([
      ...['bench', 'run', '--suite', 'processbench', '--subsets', 'gsm8k', '--data', DATA, '--out', out],
      ...['--measures', 'adversarial,nll,graph,ccp', '--score', 'all', '--max-tokens', '64'],
    ]);
    expect([code, stderr]).toEqual([0, '']);
    // Others wrote them: how many are right says nothing of the model.
    expect(stdout).toContain('3 problems: 1 right, 2 wrong, 0 cut off\n2 first wrong steps\n');
    expect(stdout).toContain('first wrong steps score higher than right ones');
    const [one, two, three] = JSON.parse(readFileSync(join(DATA, 'gsm8k.json'), 'utf8'));
    const given = [one, three, two]; // as the suite shuffles them
    const lines = (name: string) => jsonLines(folder.read(`own/${name}.jsonl`));

    const responses = lines('responses');
    expect(responses.map(({ tokenTexts }) => [tokenTexts].flat().join(''))).toEqual(
      given.map(({ steps }: { steps: string[] }) => steps.join('\n\n')),
    );
    expect(responses.every(({ finish }) => finish === 'given')).toBe(true);
    expect(lines('checks').map(({ correct }) => correct)).toEqual([false, false, true]);
    const [first, third] = lines('spans');
    expect(first).toEqual({ id: 'gsm8k-0', by: 'labels', span: [25, 25 + given[0].steps[1].length] });
    expect(third).toMatchObject({ id: 'gsm8k-2', span: [0, three.steps[0].length] });
    expect(lines('scores').map(({ steps }) => [steps].flat().length)).toEqual(
      given.map(({ steps }: { steps: string[] }) => steps.length),
    );

    const evaluation = evaluationSchema.parse(JSON.parse(folder.read('own/evaluation.json')));
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
    const { code, stderr } = await flinch([
      ...['bench', 'run', '--suite', 'processbench', '--subsets', 'gsm8k', '--data', data],
      ...['--model', longModel(), '--measures', 'nll', '--score', 'all', '--out', folder.path('left-out')],
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const evaluation = evaluationSchema.parse(JSON.parse(folder.read('left-out/evaluation.json')));
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
    const data = join(SHARED_DATA, 'processbench');
    const out = folder.path('real');
    const { code, stderr } = await flinch([
      ...['bench', 'run', '--suite', 'processbench', '--limit', '12', '--data', data, '--out', out],
      ...['--model', longModel(), '--measures', 'adversarial,nll', '--per-subset', '1'],
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const evaluation = evaluationSchema.parse(JSON.parse(folder.read('real/evaluation.json')));
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
  cpSync(join(FIXTURES, 'tiny-qwen2'), model, { recursive: true });
  const config = JSON.parse(readFileSync(join(model, 'config.json'), 'utf8'));
  writeFileSync(join(model, 'config.json'), JSON.stringify({ ...config, max_position_embeddings: 8192 }));
  return model;
}
