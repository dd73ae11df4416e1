import { describe, expect, it } from 'vitest';
import { jsonLines, lab, useFolder } from '../../support/cli.js';

const folder = useFolder();

const detection = (problems: number, seed: number, ...more: string[]) =>
  lab([
    ...['detection', '--temperature', '1', '--problems', String(problems), '--seed', String(seed)],
    ...more,
  ]);

describe('npm run lab -- detection', () => {
  it('keeps scores and hidden states of each step, and refuses what no probe can be trained on', async () => {
    const first = folder.path('first');
    const { code, stdout } = await detection(3, 100, '--out', first, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ answers: 3, seed: 100, temperature: 1 });
    for (const { steps, hidden } of jsonLines(folder.read('first/answers.jsonl'))) {
      expect(hidden).toHaveLength((steps as unknown[]).length);
      for (const mean of hidden as number[][]) {
        expect(mean).toHaveLength(192);
        expect(mean.every(Number.isFinite)).toBe(true);
      }
    }
    const refusal = async (seed: number, probe: string) =>
      (await detection(3, seed, '--probe', probe)).stderr;
    expect(await refusal(102, first)).toContain('has problems of this run');
    expect(await refusal(103, first)).toMatch(/has \d wrong steps; at least 20 are needed/);
    expect(await refusal(103, folder.path('nowhere'))).toContain('is not the --out of another run');
  });

  it('shows the probabilities of a model that writes in int8 beside those in fp32', async () => {
    const out = folder.path('int8');
    const { code, stdout } = await detection(2, 100, '--precision', 'int8', '--out', out);
    expect(code).toBe(0);
    expect(stdout).toMatch(/nll in int8 +\| +sum/);
    for (const { scores } of jsonLines(folder.read('int8/answers.jsonl'))) {
      const { nll, 'nll in int8': written } = scores as Record<string, number[]>;
      expect(written).toHaveLength(nll!.length);
      expect(written).not.toEqual(nll);
      for (const [i, value] of written!.entries()) expect(Math.abs(value - nll![i]!)).toBeLessThan(1);
    }
  });
});
