import { mkdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type Shape, type WeightType, writeRandomCheckpoint } from '#lab/speed/random-checkpoint.js';
import { DEFAULT_SCORING, Engine, openCheckpoint, scoreResponse } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { storedWeight } from '../../support/weights.js';

const TINY: Shape = {
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 300,
  max_position_embeddings: 128,
};

const { path } = useFolder();

async function write(name: string, type: WeightType, seed: number): Promise<string> {
  const folder = path(name);
  await mkdir(folder);
  await writeRandomCheckpoint(folder, TINY, { type, seed });
  return folder;
}

const weights = (folder: string): Promise<Buffer> => readFile(`${folder}/model.safetensors`);

describe('a random checkpoint', () => {
  it('is a model whose numbers are finite, and which is sure of nothing', async () => {
    for (const type of ['fp32', 'bf16'] as const) {
      const engine = await Engine.open(await write(`scored-${type}`, type, 1));
      try {
        const ids = Array.from({ length: 24 }, (_, i) => (i * 37) % TINY.vocab_size);
        const { tokens } = await scoreResponse(engine, [1, 2, 3], ids, DEFAULT_SCORING);
        const entropies = tokens.map(({ scores }) => scores.entropy!);
        expect(tokens).toHaveLength(24);
        // Neither the uniform distribution nor a single token, and not the same everywhere.
        expect(Math.max(...entropies)).toBeLessThan(0.99 * Math.log(TINY.vocab_size));
        expect(Math.min(...entropies)).toBeGreaterThan(0.5 * Math.log(TINY.vocab_size));
        expect(new Set(tokens.map(({ scores }) => scores.adversarial)).size).toBe(24);
      } finally {
        await engine.close();
      }
    }
  });

  it('follows from its seed, to the byte', async () => {
    const first = await weights(await write('first', 'fp32', 7));
    expect(first.equals(await weights(await write('again', 'fp32', 7)))).toBe(true);
    expect(first.equals(await weights(await write('other', 'fp32', 8)))).toBe(false);
  });

  it('holds in bf16 the upper halves of the same numbers', async () => {
    const full = await openCheckpoint(await write('full', 'fp32', 7));
    const half = await openCheckpoint(await write('half', 'bf16', 7));
    expect(half.weightBytes).toBe(full.weightBytes / 2);
    const name = 'model.layers.1.mlp.up_proj.weight';
    const read = async ({ tensors }: typeof full): Promise<Buffer> => {
      const { file, offset, byteLength } = storedWeight({ tensors }, name);
      return (await readFile(file)).subarray(offset, offset + byteLength);
    };
    const [words, halves] = [await read(full), await read(half)];
    const upper = Buffer.from(words.filter((_, i) => i % 4 >= 2));
    expect(halves.equals(upper)).toBe(true);
  });

  it('has a vocabulary in which every id is a token', async () => {
    const { tokenizer } = await openCheckpoint(await write('vocabulary', 'fp32', 1));
    expect(tokenizer.size).toBe(TINY.vocab_size);
    expect(tokenizer.encode('Hello').length).toBe(5);
    expect(tokenizer.decode(tokenizer.encode('Hello'))).toBe('Hello');
    const tooSmall = writeRandomCheckpoint(path(''), { ...TINY, vocab_size: 255 }, { type: 'fp32', seed: 1 });
    await expect(tooSmall).rejects.toThrow('vocab_size');
  });
});
