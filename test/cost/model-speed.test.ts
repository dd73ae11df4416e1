import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '#src/checkpoint/config.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { modelSpeed, multiplied, passOperations } from '#src/cost/model-speed.js';

const configOf = (model: string) => {
  const file = new URL(`../fixtures/configs/${model}/config.json`, import.meta.url);
  return parseConfig(JSON.parse(readFileSync(file, 'utf8')), model);
};

describe('the work of a model', () => {
  // The parameters that the models' own cards and indices state.
  it.each([
    ['Llama-3.1-8B-Instruct', 8_030_261_248],
    ['OpenMath2-Llama3.1-8B', 8_030_261_248],
    ['Llama-3.1-70B-Instruct', 70_553_706_496],
    ['Qwen2.5-7B-Instruct', 7_615_616_512],
    ['Qwen2.5-32B-Instruct', 32_763_876_352],
    ['Mistral-7B-Instruct-v0.3', 7_248_023_552],
  ])('of %s follows from its parameters', (model, parameters) => {
    const config = configOf(model);
    const shapes = [...expectedTensors(config).values()];
    expect(shapes.reduce((sum, shape) => sum + shape.reduce((a, b) => a * b), 0)).toBe(parameters);
    // The embedding is looked up.
    expect(multiplied(config)).toBeGreaterThan(0.8 * parameters);
    expect(multiplied(config)).toBeLessThan(parameters);
    // Every token reads all weights; a pass is three, and some attention.
    const { written, scored } = modelSpeed(config, 2 * parameters, 1000, { flops: 60e12, bandwidth: 3.3e12 });
    expect(written).toBeCloseTo(3.3e12 / (2 * parameters));
    expect(60e12 / (2 * multiplied(config)) / scored).toBeGreaterThan(3);
    expect(60e12 / (2 * multiplied(config)) / scored).toBeLessThan(3.3);
  });

  it('is counted as by hand', () => {
    const config = { ...configOf('Mistral-7B-Instruct-v0.3'), layers: 2, heads: 2, headDim: 4 };
    const attention = passOperations(config, 5) - 3 * 2 * multiplied(config) * 5;
    // 2 layers; eight products of 2 heads × 4 × 5 queries × 5 keys, two operations for each multiply-add.
    expect(attention).toBe(2 * 8 * (2 * 2 * 4 * 5 * 5));
  });
});
