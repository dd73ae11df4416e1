import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openCheckpoint, reasonerPath } from '#src/index.js';
import { flinch, jsonLines } from '../support/cli.js';
import { CHECKPOINTS, checkpointFolder, goldenCases, scoreErrors } from '../support/golden.js';
import { LONG_QUESTION, PLAIN_QUESTION as QUESTION } from '../support/requests.js';

const output = z.looseObject({
  id: z.union([z.string(), z.number()]),
  tokens: z.array(
    z.object({
      logprob: z.number(),
      scores: z.record(z.string(), z.number()),
      skipped: z.array(z.string()).optional(),
      rival: z.object({ id: z.number() }).optional(),
    }),
  ),
});
type Output = z.output<typeof output>;

const json = (...values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const column = ({ tokens }: Output, method: string) => tokens.map(({ scores }) => scores[method]!);

/** The lines of output for these lines of input, none of which fails. */
async function scored(args: readonly string[], input: string): Promise<Output[]> {
  const { code, stdout, stderr } = await flinch(['score', '-', ...args], input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return jsonLines(stdout).map((line) => output.parse(line));
}

describe.each(CHECKPOINTS)('flinch score on %s', (name) => {
  const golden = goldenCases(name)[0]!;
  const { promptIds, responseIds } = golden;
  const input = json({ id: 1, promptIds, responseIds });
  const model = ['--model', checkpointFolder(name)];

  it('has the derivative of float64 with --derivative', async () => {
    const step = ['--scoring', `alpha=${golden.alpha},derivative`];
    const [line] = await scored([...model, '--methods', 'adversarial', ...step], input);
    const expected = golden.jvp.map((value) => golden.alpha * value);
    expect(scoreErrors(column(line!, 'adversarial'), expected).all).toBeLessThan(0.001);
    expect(line).toMatchObject({ form: 'derivative', alpha: golden.alpha });
  });
});

describe('flinch score', () => {
  const text = { messages: [{ role: 'user', content: QUESTION }], response: 'Maya has 11 - 3 = 8.' };
  const input = json({ id: 1, ...text });

  it('draws the same noise for the same seed, in the size that it reports', async () => {
    const random = ['--methods', 'random', '--scoring', 'samples=3,sigma=0.005rms'];
    const [first, second, other] = [
      await scored([...random, '--seed', '5'], input),
      await scored([...random, '--seed', '5', '--scoring', 'schedule=windowed,block=3'], input),
      await scored([...random, '--seed', '6'], input),
    ];
    const sigma = z.number().parse(first[0]!.sigma);
    const { embeddingRms } = await openCheckpoint(reasonerPath);
    expect(sigma).toBeCloseTo(0.005 * (await embeddingRms()), 6);
    expect(first[0]).toMatchObject({ samples: 3, seed: 5 });
    const values = column(first[0]!, 'random');
    expect(scoreErrors(column(second[0]!, 'random'), values).all).toBeLessThan(1e-3);
    expect(scoreErrors(column(other[0]!, 'random'), values).all).toBeGreaterThan(0.05);
    const reported = ['--methods', 'random', '--scoring', `samples=3,sigma=${sigma}`, '--seed', '5'];
    expect(await scored(reported, input)).toEqual(first);
  });

  it('takes the uncertainties of TokUR apart, under the settings that it reports', async () => {
    const methods = ['--methods', 'tokur_eu,tokur_tu,tokur_au,entropy'];
    const [usual] = await scored(methods, input);
    expect(usual).toMatchObject({ tokur: { sigma: 1e-3, samples: 2, seed: 0 } });
    const [tu, au, eu] = ['tokur_tu', 'tokur_au', 'tokur_eu'].map((method) => column(usual!, method));
    for (const [i, total] of tu!.entries()) expect(total).toBeCloseTo(au![i]! + eu![i]!, 4);
    const seen = new Set([String(eu)]);
    for (const changes of [{ sigma: 2e-3, samples: 3 }, { seed: 1 }]) {
      const args = Object.entries(changes).flatMap(([name, value]) => [
        ...(name === 'seed' ? ['--seed', `${value}`] : ['--scoring', `tokur_${name}=${value}`]),
      ]);
      const [line] = await scored([...methods, ...args], input);
      expect(line).toMatchObject({ tokur: changes });
      seen.add(String(column(line!, 'tokur_eu')));
    }
    expect(seen.size).toBe(3);
  });
});

describe('flinch chat', () => {
  const colours = { FORCE_COLOR: '3', COLORTERM: 'truecolor' };
  const BACKGROUND = '\u001b[48;2;';
  const DIM = '\u001b[2m';
  const greedy = ['chat', '--temperature', '0'];

  it('colours the same text by ranks, if there is a calibration', async () => {
    const coloured = await flinch([...greedy, '--color', 'adversarial', QUESTION], '', colours);
    const plain = await flinch([...greedy, '--no-score', QUESTION]);
    expect(stripVTControlCharacters(coloured.stdout)).toContain(plain.stdout.trim());
    expect(coloured.stdout).not.toContain(`${DIM}8`);
    expect(stripVTControlCharacters(coloured.stdout)).toMatch(/ of ordinary tokens or more\n/);
  });

  it.each(['random', 'tokur_eu'])('colours by %s, whose scores are small', async (method) => {
    const few = ['--color', method, '--scoring', 'samples=4', '--max-tokens', '60'];
    const { code, stdout } = await flinch([...greedy, ...few, LONG_QUESTION], '', colours);
    expect(code).toBe(0);
    const [text, legend] = stdout.split(`${DIM}${method}:`);
    expect(text).toContain(BACKGROUND);
    expect(legend).toMatch(/uncertain \(\d/);
  });
});
