import { describe, expect, it } from 'vitest';
import { partsToCopy } from '#src/graphs/products.js';

const tensor = {
  name: 'lm_head.weight',
  type: 'bf16',
  shape: [10, 4],
  file: 'model.safetensors',
  offset: 100,
  byteLength: 80,
} as const;

describe('partsToCopy', () => {
  it('cuts a weight by rows into parts that are copied one at a time', () => {
    const parts = partsToCopy(tensor, 16);
    expect(parts.map(({ name, shape }) => [name, shape])).toEqual([
      ['lm_head.weight[0:4]', [4, 4]],
      ['lm_head.weight[4:8]', [4, 4]],
      ['lm_head.weight[8:10]', [2, 4]],
    ]);
    expect(parts.map((part) => [part.type !== 'packed' && part.offset, part.byteLength])).toEqual([
      [100, 32],
      [132, 32],
      [164, 16],
    ]);
  });

  it('leaves whole what needs no copy, and what is small', () => {
    expect(partsToCopy({ ...tensor, type: 'fp32', byteLength: 160 }, 16)).toHaveLength(1);
    expect(partsToCopy(tensor, 40)).toEqual([tensor]);
  });
});
