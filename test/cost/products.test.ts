import { mkdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { writeRandomCheckpoint } from '#lab/speed/random-checkpoint.js';
import { bytesPerSecond, openReaders } from '#src/cost/bandwidth.js';
import { openProducts, passOperations, weightMatrices } from '#src/cost/products.js';
import { openCheckpoint } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { checkpointFolder } from '../support/golden.js';

const { path } = useFolder();

async function tiny() {
  const folder = path('tiny');
  await mkdir(folder, { recursive: true });
  const shape = {
    hidden_size: 8,
    intermediate_size: 16,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    vocab_size: 256,
    max_position_embeddings: 64,
  };
  await writeRandomCheckpoint(folder, shape, { type: 'fp32', seed: 1 });
  return openCheckpoint(folder);
}

describe('the products of a score pass', () => {
  it('are counted as by hand', async () => {
    const { config } = await tiny();
    const operations = passOperations(config, { window: 3, past: 2, scored: 1 });
    // q and o 8×8, k and v 4×8, gate, up and down 16×8; the head 256×8 for one row; three passes, 2 for multiply-add.
    const layer = 2 * 64 + 2 * 32 + 3 * 128;
    expect(operations.weights).toBe(3 * 2 * (2 * layer * 3 + 2048));
    // 2 layers; per product 2 heads × 4 × 3 queries × keys: six with all 5 keys, two with the 3 of the window.
    expect(operations.attention).toBe(2 * 2 * (2 * 4 * 3) * (6 * 5 + 2 * 3));
  });

  it('leave an embedding out that is only looked up', async () => {
    const { config } = await openCheckpoint(checkpointFolder('tiny-mistral'));
    const heads = weightMatrices({ ...config, tieWordEmbeddings: false }).filter(({ head }) => head);
    expect(heads.map(({ name }) => name)).toEqual(['lm_head.weight']);
    const names = weightMatrices({ ...config, tieWordEmbeddings: false }).map(({ name }) => name);
    expect(names).not.toContain('model.embed_tokens.weight');
  });

  it('can be run alone, and weights read alone', async () => {
    const checkpoint = await tiny();
    for (const packed of [false, true]) {
      const directions = ['clean', 'backward', 'perturbed'] as const;
      const products = await openProducts(checkpoint, directions, { threads: 1, packed });
      // One product of each direction with each of 2 × 7 projections and the head.
      const results = await products(3, 1)();
      expect(Object.keys(results)).toHaveLength(3 * (2 * 7 + 1));
    }
    const readers = await openReaders(checkpoint, { threads: 1 });
    const bytes = 4 * (2 * (2 * 64 + 2 * 32 + 3 * 128) + 2048);
    expect(readers.products.bytes).toBe(bytes);
    expect(readers.mapped.bytes).toBe(bytes);
    expect(readers.sum.bytes).toBeGreaterThanOrEqual(bytes);
    for (const { run } of Object.values(readers)) await run();
    expect(bytesPerSecond(3e9, 1500)).toBe(2e9);
  });
});
