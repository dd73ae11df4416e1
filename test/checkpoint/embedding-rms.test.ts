import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { embeddingRms } from '#src/checkpoint/weight-values.js';
import { weightsIn } from '#src/checkpoint/weights.js';
import { filesOf, fixture, folder, modelError, safetensors } from '../support/graphs.js';
import { storedWeight } from '../support/weights.js';

const NAME = 'model.embed_tokens.weight';

/** Tensors of which one is the embedding, after another so that its offset matters. */
async function embedding(dtype: string, data: Uint8Array, elements: number) {
  const header = {
    other: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
    [NAME]: { dtype, shape: [1, elements], data_offsets: [4, 4 + data.length] },
  };
  const file = safetensors(header, 4 + data.length);
  file.set(data, file.length - data.length);
  return weightsIn(await readSafetensors(await folder({ 'model.safetensors': file })));
}

const bytesOf = (values: Float32Array | Uint16Array) => new Uint8Array(values.buffer);
const rms = (values: Iterable<number>) => {
  const squares = Array.from(values, (x) => x * x);
  return Math.sqrt(squares.reduce((sum, x) => sum + x, 0) / squares.length);
};

describe('embeddingRms', () => {
  it.each([
    ['F32', bytesOf(Float32Array.of(1, -2, 0.5)), [1, -2, 0.5]],
    ['BF16', bytesOf(Uint16Array.of(0x3f80, 0xc000, 0x3f00, 0x8000)), [1, -2, 0.5, -0]],
    ['F16', bytesOf(Uint16Array.of(0x3c00, 0xc000, 0x3800, 0x8000)), [1, -2, 0.5, -0]],
    ['F16', bytesOf(Uint16Array.of(0x7bff)), [65504]],
    ['F16', bytesOf(Uint16Array.of(0x0001, 0x83ff)), [2 ** -24, -1023 * 2 ** -24]],
  ] as const)('of %s is that of the numbers stored', async (dtype, data, values) => {
    expect(await embeddingRms(await embedding(dtype, data, values.length))).toBeCloseTo(rms(values), 12);
  });

  it('of a matrix larger than a chunk counts every element once', async () => {
    const values = Float32Array.from({ length: 700_001 }, (_, i) => Math.sin(i) + i / 700_000);
    const tensors = await embedding('F32', bytesOf(values), values.length);
    expect(await embeddingRms(tensors)).toBeCloseTo(rms(values), 12);
  });

  it('is refused by name where the matrix holds what is no number, or is cut off', async () => {
    for (const [dtype, data] of [
      ['F32', bytesOf(Float32Array.of(1, Number.NaN))],
      ['F32', bytesOf(Float32Array.of(Number.NEGATIVE_INFINITY, 1))],
      ['BF16', bytesOf(Uint16Array.of(0x7f80, 0))],
      ['F16', bytesOf(Uint16Array.of(0, 0x7e00))],
    ] as const) {
      const tensors = await embedding(dtype, data, 2);
      expect(await modelError(() => embeddingRms(tensors))).toMatchObject({
        field: NAME,
        message: expect.stringContaining('NaN or infinity'),
      });
    }
    const tensors = await embedding('F32', bytesOf(Float32Array.of(1, 2)), 2);
    const { file, offset } = storedWeight({ tensors }, NAME);
    await truncate(file, offset + 6);
    expect(await modelError(() => embeddingRms(tensors))).toMatchObject({ file, field: NAME });
  });

  it('is that of what enters the first layer', async () => {
    const { tensors, embeddingRms: entering } = await openCheckpoint(fixture('tiny-gemma2'));
    expect(await entering()).toBeCloseTo(Math.sqrt(32) * (await embeddingRms(tensors)), 12);
  });

  it('is read when first asked for, and once', async () => {
    const dir = await folder(await filesOf(fixture('tiny-qwen2')));
    const checkpoint = await openCheckpoint(dir);
    const tensor = storedWeight(checkpoint, NAME);
    const file = join(dir, 'model.safetensors');
    const ones = (exponent: number) => new Uint16Array(tensor.byteLength / 2).fill(0x3f80 + (exponent << 7));
    const bytes = await readFile(file);
    bytes.set(bytesOf(ones(1)), tensor.offset);
    await writeFile(file, bytes);
    expect(await checkpoint.embeddingRms()).toBe(2);
    bytes.set(bytesOf(ones(2)), tensor.offset);
    await writeFile(file, bytes);
    expect(await checkpoint.embeddingRms()).toBe(2);
  });
});
