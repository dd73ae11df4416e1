import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { openIntegerWeights, roundRows } from '#src/engine/integer-weights.js';
import { changedReasoner } from '../support/changed-model.js';
import { useFolder } from '../support/cli.js';
import { REASONER } from '../support/golden.js';

const folder = useFolder();

describe('roundRows', () => {
  it('keeps each value within half a step of its block', () => {
    const values = Float32Array.from({ length: 2 * 64 }, (_, i) => Math.sin(i) * 10 ** (i % 5));
    const { integers, scales } = roundRows(values, 64);
    expect(scales).toHaveLength(4);
    for (const [i, value] of values.entries()) {
      const scale = scales[i >> 5]!;
      expect(Math.abs((integers[i]! - 128) * scale - value)).toBeLessThanOrEqual(scale * 0.5001);
    }
  });

  it('fills the last block of a row with zeros', () => {
    const { integers, scales } = roundRows(new Float32Array(2 * 40).fill(1), 40);
    expect(scales).toHaveLength(4);
    expect([...integers.subarray(32, 64)]).toEqual([...Array(8).fill(255), ...Array(24).fill(128)]);
  });

  it('gives a block of zeros the scale 0', () => {
    const { integers, scales } = roundRows(new Float32Array(32), 32);
    expect([...scales]).toEqual([0]);
    expect(new Set(integers)).toEqual(new Set([128]));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('does not hide %s', (value) => {
    const values = new Float32Array(64).fill(1);
    values[40] = value;
    expect([...roundRows(values, 64).scales].map(Number.isFinite)).toEqual([true, false]);
  });
});

describe('openIntegerWeights', () => {
  const open = async (folder: string, model = REASONER) =>
    openIntegerWeights(await openCheckpoint(model), folder);

  it('makes a file once', async () => {
    const file = folder.path('cache/model.safetensors');
    const weights = await open(folder.path('cache'));
    const { mtimeMs, size } = statSync(file);
    expect(await open(folder.path('cache'))).toEqual(weights);
    expect(statSync(file)).toMatchObject({ mtimeMs, size });
    expect(readdirSync(folder.path('cache'))).toEqual(['model.safetensors']);
    const bytes = [...weights.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(bytes).toBeLessThan(size);
    expect(bytes).toBeGreaterThan(size - 2 ** 15); // the header
  });

  it.each([
    ['cut', (file: string) => truncateSync(file, statSync(file).size - 1)],
    ['of another layout', (file: string) => writeFileSync(file, readFileSync(file).fill(0, 0, 64))],
    ['empty', (file: string) => writeFileSync(file, '')],
  ])('makes a file again that is %s', async (name, spoil) => {
    const file = folder.path(`${name}/model.safetensors`);
    await open(folder.path(name));
    const made = readFileSync(file);
    spoil(file);
    await open(folder.path(name));
    expect(readFileSync(file).equals(made)).toBe(true);
  });

  it('refuses weights that are not finite, and leaves nothing behind', async () => {
    const model = changedReasoner(folder.path('broken'), (weights) => {
      weights[7] = Number.NaN;
    });
    await expect(open(folder.path('none'), model)).rejects.toThrow(/weight: contains NaN or infinity/);
    expect(readdirSync(folder.path('none'))).toEqual([]);
  });

  it('names a file that cannot be written', async () => {
    const file = folder.path('in-the-way');
    writeFileSync(file, '');
    await expect(open(file)).rejects.toMatchObject({ type: 'model', file });
  });

  it('may be made by several at once', async () => {
    const together = folder.path('together');
    await Promise.all([open(together), open(together)]);
    expect(readdirSync(folder.path('together'))).toEqual(['model.safetensors']);
  });
});
