import { createHash } from 'node:crypto';
import { existsSync, readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkModel, openCheckpoint, readCheckpoint } from '#src/checkpoint/checkpoint.js';
import type { Conversion } from '#src/checkpoint/conversion.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import type { PackedTensor } from '#src/checkpoint/packed.js';
import { calibrationFileOf } from '#src/risk/calibration-file.js';
import { useFolder } from '../../support/cli.js';
import { largestDifference } from '../../support/golden.js';
import { folder } from '../../support/graphs.js';
import { encodeParts, QUANTIZED, quantizedFiles, quantizedParts } from '../../support/quantized.js';
import { logprobsOf, valuesOf } from '../../support/weights.js';

const cache = useFolder();
beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', cache.path('cache')));
afterAll(() => void vi.unstubAllEnvs());

/** Matrices that are stored as one are found by their parts. */
const partsOf = (tensor: string): readonly string[] => {
  const [stem, fused] = tensor.split(/(?<=\.)(qkv|gate_up)_proj/);
  if (fused === undefined) return [tensor];
  const names = fused === 'qkv' ? ['q', 'k', 'v'] : ['gate', 'up'];
  return names.map((name) => `${stem}${name}_proj.weight`);
};

describe.each(Object.entries(QUANTIZED))('%s', (name, { digests, ids, logprobs }) => {
  it("has the values of its tool, to the bit, and gives the weights' log-probabilities", async () => {
    const checkpoint = await openCheckpoint(await folder(await quantizedFiles(name)));
    const found = Object.keys(digests).map(async (tensor) => {
      const hash = createHash('sha256');
      for (const part of partsOf(tensor)) {
        const weight = checkpoint.tensors.get(part)!;
        expect(weight.file).toBe(join(checkpoint.quantized!.folder, 'model.safetensors'));
        hash.update(new Uint8Array((await valuesOf(weight)).buffer));
      }
      return [tensor, hash.digest('hex')];
    });
    expect(Object.fromEntries(await Promise.all(found))).toEqual(digests);

    expect(largestDifference(await logprobsOf(checkpoint, ids), logprobs)).toBeLessThan(2e-5);
  });
});

describe('a folder with quantised weights', () => {
  it('is converted once, with progress, beside the weights that are not quantised', async () => {
    vi.stubEnv('XDG_CACHE_HOME', cache.path('once'));
    const dir = await folder(await quantizedFiles('gptq-int4'));
    const seen: Conversion[] = [];
    const checkpoint = await openCheckpoint(dir, { onConversion: (at) => seen.push(at) });
    const { quantized, tensors } = checkpoint;
    expect(seen.at(-1)).toMatchObject({ file: dir, folder: quantized!.folder, written: seen[0]?.total });
    expect(readdirSync(quantized!.folder)).toEqual(['model.safetensors']);
    expect(checkpoint).toMatchObject({ dir, gguf: null, weightBytes: 182016 });
    expect(calibrationFileOf(checkpoint)).toBe(join(dir, 'calibration.json'));
    expect(quantized).toMatchObject({ format: 'gptq (gptq), 4 bits', matrices: [21, 23] });
    expect(tensors.get('lm_head.weight')?.file).toBe(join(dir, 'plain.safetensors'));

    const again = await openCheckpoint(dir, { onConversion: () => expect.unreachable() });
    expect(await fingerprint(again)).toBe(await fingerprint(checkpoint));
    truncateSync(join(quantized!.folder, 'model.safetensors'), 5000);
    const repaired = await openCheckpoint(dir);
    expect(await fingerprint(repaired)).toBe(await fingerprint(checkpoint));
  });

  it('is checked and read without being converted', async () => {
    const dir = await folder(await quantizedFiles('awq-int4'));
    vi.stubEnv('XDG_CACHE_HOME', cache.path('other'));
    await checkModel(dir);
    const { tensors, quantized } = await readCheckpoint(dir);
    expect(existsSync(cache.path('other'))).toBe(false);
    expect(quantized?.format).toBe('awq (gemm), 4 bits');
    const name = 'model.layers.0.self_attn.k_proj.weight';
    const { file: _, ...place } = tensors.get(name)!;
    expect(place).toMatchObject({ type: 'packed', shape: [32, 64] });
    expect((await openCheckpoint(dir)).tensors.get(name)).toMatchObject(place);
  });

  it('is another model if numbers differ that are read where they lie', async () => {
    const files = await quantizedFiles('fp8-block');
    const parts = await quantizedParts('fp8-block');
    const first = await openCheckpoint(await folder(files));
    const name = 'model.layers.0.mlp.up_proj.weight';
    const { places, file } = first.tensors.get(name) as PackedTensor;
    expect(places.integers!.file).not.toBe(file);
    parts[name]!.data[5]! ^= 1;
    const changed = { ...files, 'quantized.safetensors': encodeParts(parts) };
    const other = await openCheckpoint(await folder(changed));
    expect(await fingerprint(other)).not.toBe(await fingerprint(first));
  });
});
