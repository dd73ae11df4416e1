import { describe, expect, it } from 'vitest';
import { bytesPerSecond, openReaders } from '#src/cost/bandwidth.js';
import { openProducts, passOperations, weightMatrices } from '#src/cost/products.js';
import { openCheckpoint } from '#src/index.js';
import { checkpointFolder } from '../support/golden.js';

/** 3 layers, 4 heads of 8 and 2 for keys and values; hidden size 32, 64 within the MLP, 640 tokens, a head of its own. */
const tiny = () => openCheckpoint(checkpointFolder('tiny-llama'));
/** q and o 32×32, k and v 16×32, gate, up and down 64×32. */
const LAYER = 2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32;
const HEAD = 640 * 32;

describe('the products of a score pass', () => {
  it('are counted as by hand', async () => {
    const { config } = await tiny();
    const operations = passOperations(config, { window: 3, past: 2, scored: 1 });
    // 3 layers for 3 rows, the head for one; three passes, 2 for multiply-add.
    expect(operations.weights).toBe(3 * 2 * (3 * LAYER * 3 + HEAD));
    // 3 layers; per product 4 heads × 8 × 3 queries × keys: six with all 5 keys, two with the 3 of the window.
    expect(operations.attention).toBe(3 * 2 * (4 * 8 * 3) * (6 * 5 + 2 * 3));
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
      // One product of each direction with each of 3 × 7 projections and the head.
      const results = await products(3, 1)();
      expect(Object.keys(results)).toHaveLength(3 * (3 * 7 + 1));
    }
    const readers = await openReaders(checkpoint, { threads: 1 });
    const bytes = 4 * (3 * LAYER + HEAD);
    expect(readers.products.bytes).toBe(bytes);
    expect(readers.mapped.bytes).toBe(bytes);
    expect(readers.sum.bytes).toBeGreaterThanOrEqual(bytes);
    for (const { run } of Object.values(readers)) await run();
    expect(bytesPerSecond(3e9, 1500)).toBe(2e9);
  });
});
