import { existsSync, readdirSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeElements, roundToBfloat16 } from '#src/checkpoint/elements.js';
import { headName, productsOf } from '#src/checkpoint/weights.js';
import { openHalfWeights } from '#src/engine/half-weights.js';
import { openCheckpoint } from '#src/index.js';
import { changedReasoner } from '../support/changed-model.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';
import { valuesOf } from '../support/weights.js';

const folder = useFolder();

describe('roundToBfloat16', () => {
  it.each([
    [1, 1],
    [1 + 2 ** -8, 1], // a tie goes to the even one
    [1 + 3 * 2 ** -8, 1 + 2 ** -6],
    [1 + 1.01 * 2 ** -8, 1 + 2 ** -7],
    [-(1 + 1.01 * 2 ** -8), -(1 + 2 ** -7)],
    [0, 0],
  ])('%d is %d', (value, expected) => {
    expect(decodeElements('bf16', roundToBfloat16(Float32Array.of(value)))[0]).toBe(expected);
  });
});

describe('openHalfWeights', () => {
  it('rounds the matrices of products, but for that of the logits', async () => {
    const checkpoint = await openCheckpoint(checkpointFolder('tiny-mistral'));
    const halves = await openHalfWeights(checkpoint, folder.path('made'));
    const names = productsOf(checkpoint.config).map(({ name }) => name);
    const head = headName(checkpoint.config);
    expect([...halves.keys()]).toEqual(names.filter((name) => name !== head));
    for (const [name, half] of halves) {
      const values = await valuesOf(checkpoint.tensors.get(name)!);
      expect(half.type).toBe('bf16');
      expect(await valuesOf(half)).toEqual(decodeElements('bf16', roundToBfloat16(values)));
    }
    expect(readdirSync(folder.path('made'))).toEqual(['model.safetensors']);
    const { mtimeMs } = statSync(folder.path('made/model.safetensors'));
    expect(await openHalfWeights(checkpoint, folder.path('made'))).toEqual(halves);
    expect(statSync(folder.path('made/model.safetensors')).mtimeMs).toBe(mtimeMs);
  });

  it('takes those in bf16 as they are stored', async () => {
    const checkpoint = await openCheckpoint(checkpointFolder('tiny-qwen3'));
    const halves = await openHalfWeights(checkpoint, folder.path('none'));
    expect(halves.size).toBeGreaterThan(0);
    for (const [name, half] of halves) expect(half).toBe(checkpoint.tensors.get(name));
    expect(existsSync(folder.path('none'))).toBe(false);
  });

  it('refuses weights that are not finite', async () => {
    const model = changedReasoner(folder.path('broken'), (weights) => {
      weights[7] = Number.NaN;
    });
    const opened = openHalfWeights(await openCheckpoint(model), folder.path('refused'));
    await expect(opened).rejects.toThrow(/weight: contains NaN or infinity/);
  });
});
