import { describe, expect, it } from 'vitest';
import { partsToCast } from '#src/graphs/decoder.js';

const tensor = {
  name: 'lm_head.weight',
  type: 'bfloat16',
  shape: [10, 4],
  file: 'model.safetensors',
  offset: 100,
  byteLength: 80,
} as const;

describe('partsToCast', () => {
  it('cuts a weight by rows into parts that are cast one at a time', () => {
    const parts = partsToCast(tensor, 16);
    expect(parts.map(({ name, shape }) => [name, shape])).toEqual([
      ['lm_head.weight[0:4]', [4, 4]],
      ['lm_head.weight[4:8]', [4, 4]],
      ['lm_head.weight[8:10]', [2, 4]],
    ]);
    expect(parts.map(({ offset, byteLength }) => [offset, byteLength])).toEqual([
      [100, 32],
      [132, 32],
      [164, 16],
    ]);
  });

  it('leaves whole what needs no cast, and what is small', () => {
    expect(partsToCast({ ...tensor, type: 'float32', byteLength: 160 }, 16)).toHaveLength(1);
    expect(partsToCast(tensor, 40)).toEqual([tensor]);
  });
});
