import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { flinch } from '../support/cli.js';
import { checkpointFolder, REASONER } from '../support/golden.js';

const configOf = (model: string): string =>
  fileURLToPath(new URL(`../fixtures/configs/${model}/config.json`, import.meta.url));

const inspected = z.object({
  parameters: z.int(),
  weightBytes: z.int(),
  types: z.array(z.string()),
  gpu: z.object({ webgpu: z.int(), cuda: z.int() }),
  time: z.object({
    size: z.object({ prompt: z.int(), response: z.int() }),
    machine: z.object({ flops: z.number(), bandwidth: z.number() }),
    seconds: z.record(z.string(), z.number()),
    writing: z.object({ withoutPasses: z.number(), withAdversarial: z.number().nullable() }).nullable(),
  }),
});

async function inspect(args: readonly string[]) {
  const { stdout, stderr, code } = await flinch(['inspect', ...args, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return inspected.parse(JSON.parse(stdout));
}

describe('flinch inspect', () => {
  // The parameters that the models' own cards and indices state.
  it.each([
    ['Llama-3.1-8B-Instruct', 8_030_261_248],
    ['OpenMath2-Llama3.1-8B', 8_030_261_248],
    ['Llama-3.1-70B-Instruct', 70_553_706_496],
    ['Qwen2.5-7B-Instruct', 7_615_616_512],
    ['Qwen2.5-32B-Instruct', 32_763_876_352],
    ['Mistral-7B-Instruct-v0.3', 7_248_023_552],
  ])('counts the parameters of %s from its config.json alone', async (model, parameters) => {
    const args = [configOf(model), '--length', '1000', '--gflops', '60000', '--bandwidth', '3300'];
    const facts = await inspect(args);
    expect(facts).toMatchObject({ parameters, weightBytes: 2 * parameters, types: ['bf16'] });
    // Two processes, in fp32; three graphs, as stored.
    expect(facts.gpu).toEqual({ webgpu: 2 * 4 * parameters, cuda: 3 * 2 * parameters });
    const { generate, probability, adversarial, random, tokur } = facts.time.seconds;
    // Two operations for each weight that is multiplied and position, and some for attention; the embedding is looked up.
    const operations = 2 * 999 * parameters;
    expect(probability! * 60e12).toBeGreaterThan(0.8 * operations);
    expect(probability! * 60e12).toBeLessThan(1.1 * operations);
    expect(adversarial! / probability!).toBeGreaterThan(2.9);
    expect(adversarial! / probability!).toBeLessThan(3.2);
    expect(random! / probability!).toBeCloseTo(21);
    expect(tokur! / probability!).toBeCloseTo(2);
    // Every token reads all weights, at 3.3 TB/s.
    expect(generate!).toBeGreaterThan((800 * 2 * parameters) / 3.3e12);
    expect(generate!).toBeLessThan((900 * 2 * parameters) / 3.3e12);
  });

  it.each([
    [
      'tiny-gemma3',
      /gemma3_text, 3 layers.*; the last 20 positions in 2 of 3 layers\n.*θ 1000000, linear; θ 10000 in layers with a window\n/s,
    ],
    [
      'tiny-phi3',
      /θ 10000, longrope, 12 of 16 dimensions\n.*256 positions \(long_factor.* is not supported\)/s,
    ],
    ['tiny-smollm3', /θ 2000000; none in 1 of 3 layers\n/],
  ] as const)('says how the layers of %s differ', async (name, expected) => {
    const { stdout, stderr } = await flinch(['inspect', checkpointFolder(name)]);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(expected), stderr: '' });
  });

  it('measures this machine for the time of one response', async () => {
    const { time } = await inspect([REASONER, '--length', '300', '--prompt', '100', '--time']);
    expect(time.size).toEqual({ prompt: 100, response: 200 });
    expect(time.machine.flops).toBeGreaterThan(1e8);
    expect(time.machine.bandwidth).toBeGreaterThan(1e8);
    expect(time.seconds.adversarial).toBeGreaterThan(time.seconds.probability!);
    expect(time.writing?.withoutPasses).toBeGreaterThan(1);
    expect(time.writing?.withAdversarial).toBeGreaterThan(1);
  });

  it('measures what it is not told', async () => {
    const { time } = await inspect([REASONER, '--length', '300', '--gflops', '50']);
    expect(time.machine.flops).toBe(50e9);
    expect(time.machine.bandwidth).toBeGreaterThan(1e8);
    expect(time.writing).toBeNull();
  });

  it('refuses a prompt that is the whole text, and a file that is no configuration', async () => {
    expect(await flinch(['inspect', REASONER, '--length', '200', '--time'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--prompt: 200'),
    });
    const readme = fileURLToPath(new URL('../../README.md', import.meta.url));
    expect(await flinch(['inspect', readme])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('README.md'),
    });
  });
});
