import { mkdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GGUF_FORMATS, writeRandomGguf } from '#lab/speed/random-gguf.js';
import { QUANTIZED_FORMATS, writeRandomQuantized } from '#lab/speed/random-quantized.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { useFolder } from '../../support/cli.js';
import { valuesOf } from '../../support/weights.js';

const SHAPE = {
  hidden_size: 256,
  intermediate_size: 384,
  num_hidden_layers: 1,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 512,
  max_position_embeddings: 64,
};
const { path } = useFolder();
const { XDG_CACHE_HOME } = process.env;
beforeAll(() => {
  process.env.XDG_CACHE_HOME = path('cache');
});
afterAll(() => {
  if (XDG_CACHE_HOME === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = XDG_CACHE_HOME;
});

/** Mean and standard deviation of a weight. */
async function spread(model: string, name: string): Promise<{ mean: number; deviation: number }> {
  const values = await valuesOf((await openCheckpoint(model)).tensors.get(name)!);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(square) };
}

describe('random weights in the formats that models come in', () => {
  it.each([
    ...GGUF_FORMATS.map((format) => ({
      format,
      write: async () => {
        await writeRandomGguf(path(`${format}.gguf`), SHAPE, { format, seed: 1 });
        return path(`${format}.gguf`);
      },
    })),
    ...QUANTIZED_FORMATS.map((format) => ({
      format,
      write: async () => {
        await mkdir(path(format));
        await writeRandomQuantized(path(format), SHAPE, { format, seed: 1 });
        return path(format);
      },
    })),
  ])('$format is read, with values of mean 0 and deviation 1/√inputs', async ({ write }) => {
    const model = await write();
    for (const [part, inputs] of [
      ['mlp.up_proj', 256],
      ['mlp.down_proj', 384],
    ] as const) {
      const { mean, deviation } = await spread(model, `model.layers.0.${part}.weight`);
      expect(deviation * Math.sqrt(inputs)).toBeGreaterThan(0.97);
      expect(deviation * Math.sqrt(inputs)).toBeLessThan(1.03);
      expect(Math.abs(mean)).toBeLessThan(0.12 / Math.sqrt(inputs)); // the integers are those around −½
    }
  });
});
