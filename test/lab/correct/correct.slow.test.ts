import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { suites } from '#bench/suites/suites.js';
import { answerTask } from '#lab/correct/answer-task.js';
import { ARMS, type ArmSettings, flagCount, guarding, unguarded } from '#lab/correct/arms.js';
import { DEFAULT_GUARD, DEFAULT_METHODS, type Engine } from '#src/index.js';
import { lab, useFolder } from '../../support/cli.js';
import { REASONER } from '../../support/golden.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const folder = useFolder();

describe('npm run lab -- correct', () => {
  it('compares arms over the same problems, and goes on where it was interrupted', async () => {
    const out = folder.path('run');
    const arms = 'nll,majority;chance,majority;always,majority;adversarial,majority';
    const args = [
      'correct',
      '--problems',
      '3',
      '--candidates',
      '2',
      '--max-rollbacks',
      '2',
      '--rate',
      '0.1',
      '--samples',
      '2',
      '--controls',
      '0,1',
      '--held',
      '2',
      '--json',
    ];
    const run = () => lab([...args, '--arms', arms, '--out', out]);
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const first = JSON.parse(stdout);
    expect(first.outcomes.map(({ name }: { name: string }) => name)).toEqual([
      'no guard, T = 0.2',
      'no guard, T = 0.2, vote of 2',
      'no guard, T = 0.2, vote of 3',
      'no guard, greedy',
      'no guard, T = 1',
      'no guard, T = 1, vote of 2',
      'no guard, T = 1, vote of 3',
      ...arms.split(';').map((arm) => arm.replace(',', ', ')),
    ]);
    for (const { right, tokens } of first.outcomes) {
      expect(right).toMatch(/^[01]{3}$/);
      expect(tokens).toHaveLength(3);
    }
    const [main, , always] = first.guarded;
    expect(always.tokensPerProblem).toBeGreaterThan(first.unguarded[0].rungs[0].tokensPerProblem);
    const compared = main.comparisons.map((comparison: { with: string }) => comparison.with);
    expect(compared.slice(0, 2)).toEqual(['no guard, T = 0.2', 'chance, majority']);
    expect(compared).toHaveLength(5);
    expect(compared[3]).toBe('no guard, greedy');
    expect(readFileSync(`${out}/tokens.svg`, 'utf8')).toContain('always, majority');
    expect(first.delays).toMatchObject({ answers: 2, seconds: { held: { median: expect.any(Number) } } });
    expect(first.command).not.toContain(out);

    // As if killed: the last answers of each stage are lost, one in the middle of its line.
    for (const name of readdirSync(out).filter((file) => file.endsWith('.jsonl'))) {
      const text = readFileSync(`${out}/${name}`, 'utf8');
      writeFileSync(`${out}/${name}`, text.slice(0, Math.ceil(text.length * 0.6)));
    }
    const second = JSON.parse((await run()).stdout);
    // How far a guarded answer was read ahead depends on time.
    const rights = ({ outcomes }: typeof first) =>
      outcomes.map(({ name, right }: { name: string; right: string }) => [name, right]);
    expect(rights(second)).toEqual(rights(first));

    const other = await lab([...args, '--arms', arms, '--out', out, '--temperature', '1']);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('contains a run with another temperature: 0.2, not 1');
    const fewer = await lab([...args, '--arms', arms, '--out', out, '--subsets', 'one_step']);
    expect(fewer.code).toBe(1);
    expect(fewer.stderr).toContain('contains a run with another subsets');
  });

  it('needs a calibration that holds', async () => {
    const model = folder.path('model');
    const { cpSync } = await import('node:fs');
    cpSync(REASONER, model, { recursive: true });
    writeFileSync(`${model}/calibration.json`, '{"format": 1}');
    const { code, stderr } = await lab(['correct', '--model', model, '--problems', '2']);
    expect(code).toBe(1);
    expect(stderr).toContain('calibration.json');
  });

  it('names the arms that it knows', async () => {
    const { code, stderr } = await lab(['correct', '--arms', 'hope,prayer']);
    expect(code).toBe(1);
    expect(stderr).toContain('"hope,prayer" is not one of nll, entropy,');
  });
});

describe('an arm', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await sharedReasoner();
  });

  it.each(['step', 'spike'] as const)(
    'does nothing to an answer of which it flags none (%s)',
    async (actOn) => {
      const suite = suites.tasks;
      const [problem] = await suite.load({ folder: null, subsets: null, seed: 77, count: 1 });
      const asking = { engine, suite, maxTokens: 256 };
      const sampled = { seed: 5, temperature: 0.2 };
      const risks = { calibrated: () => true, ofToken: () => 0, ofStep: () => 0, ofAnswer: () => 0 };
      const thresholds = new Map(
        DEFAULT_METHODS.map((method) => [method, Number.POSITIVE_INFINITY] as const),
      );
      const guard = { ...DEFAULT_GUARD, actOn };
      const settings: ArmSettings = { guard, main: 'nll', risks, share: 0, thresholds };
      const plain = await answerTask(asking, problem!, sampled, unguarded(DEFAULT_GUARD, DEFAULT_METHODS));
      const arms = ARMS.filter(({ trigger }) => trigger !== 'random' && trigger !== 'always');
      // There is no asking for a check in the middle of a step.
      for (const arm of arms.filter(({ remedy }) => actOn === 'step' || remedy !== 'reflect')) {
        expect(flagCount(arm.trigger, plain, 5, settings)).toBe(0);
        const { text, replaced, kept, generated } = await answerTask(
          asking,
          problem!,
          sampled,
          guarding(arm, 5, settings),
        );
        expect({ text, replaced, kept }).toEqual({ text: plain.text, replaced: 0, kept: 0 });
        expect(generated).toBe(plain.generated);
      }
    },
  );

  it.each(['step', 'spike'] as const)('by chance flags as many as it is told to (%s)', (actOn) => {
    const settings: ArmSettings = {
      guard: { ...DEFAULT_GUARD, actOn },
      main: 'nll',
      risks: { calibrated: () => true, ofToken: () => 0, ofStep: () => 0, ofAnswer: () => 0 },
      share: 0.1,
      thresholds: new Map(),
    };
    const steps = Array.from({ length: 10 }, (_, i) => ({ from: i, to: i + 1, text: '' }));
    const scores = steps.map((_, i) => ({ nll: i / 100 }));
    const flags = Array.from({ length: 1000 }, (_, seed) =>
      flagCount('chance', { steps, scores }, seed, settings),
    );
    const total = flags.reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThan(900);
    expect(total).toBeLessThan(1100);
    expect(flagCount('chance', { steps, scores }, 3, settings)).toBe(flags[3]);
  });
});
