import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Encoder } from '#bench/encoder/encoder.js';
import { type EncoderUse, readEncoderFolder } from '#bench/encoder/encoder-folder.js';
import { type OpenEncoders, openEncoders, type TextPair } from '#bench/encoder/encoders.js';
import {
  applyHead,
  idsOf,
  meanOf,
  NLI_HEAD,
  SIMILARITY_HEAD,
  type TinyEncoder,
  writeTinyEncoder,
} from '../../support/tiny-encoder.js';

const folders: string[] = [];
async function write(options: TinyEncoder): Promise<string> {
  const folder = await writeTinyEncoder(options);
  folders.push(folder);
  return folder;
}
afterAll(async () => {
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
});

/** With their token ids, special ones included, and where the second text begins. */
const PAIRS: readonly { readonly pair: TextPair; readonly ids: number[]; readonly second: number }[] = [
  { pair: ['six', '6'], ids: [2, 9, 3, 7, 3], second: 3 },
  { pair: ['the difference is 6', '7'], ids: [2, 4, 10, 11, 6, 7, 3, 8, 3], second: 7 },
  { pair: ['sum', 'the sum is six'], ids: [2, 5, 3, 4, 5, 6, 9, 3], second: 3 },
];
const pairs = PAIRS.map(({ pair }) => pair);

describe('openEncoders', () => {
  async function using<T>(
    use: EncoderUse,
    options: TinyEncoder,
    work: (encoders: OpenEncoders) => Promise<T>,
  ): Promise<T> {
    const encoders = await openEncoders({ [use]: await write(options) });
    try {
      return await work(encoders);
    } finally {
      await encoders.close();
    }
  }

  it('tells relations by the labels of config.json, whatever their order and case', async () => {
    const expected = PAIRS.map(({ ids, second }) => {
      const logits = applyHead(NLI_HEAD, meanOf(ids, second));
      return (['contra', 'neutral', 'entail'] as const)[logits.indexOf(Math.max(...logits))]!;
    });
    expect(new Set(expected).size).toBeGreaterThan(1);
    const fingerprints: (string | undefined)[] = [];
    await using('nli', { head: NLI_HEAD }, async ({ relate, compare, embed, names }) => {
      expect(await relate!(pairs)).toEqual(expected);
      expect(await relate!([...pairs, ...pairs])).toEqual([...expected, ...expected]);
      expect(await relate!([])).toEqual([]);
      expect([compare, embed]).toEqual([null, null]);
      expect(names.nli).toMatch(/^flinch-encoder-\w+\/onnx\/model.onnx [0-9a-f]{16}$/);
      fingerprints.push(names.nli?.split(' ')[1]);
    });
    const config = { id2label: idsOf(['ENTAILMENT', 'contradiction', 'neutral']) };
    const renamed = { contra: 'entail', neutral: 'contra', entail: 'neutral' };
    await using('nli', { head: NLI_HEAD, config }, async ({ relate, names }) => {
      expect(await relate!(pairs)).toEqual(expected.map((relation) => renamed[relation]));
      fingerprints.push(names.nli?.split(' ')[1]);
    });
    expect(new Set(fingerprints).size).toBe(2);
  });

  it('asks about no pair twice', async () => {
    const { relate, close } = await openEncoders({ nli: await write({ head: NLI_HEAD }) });
    const first = await relate!(pairs);
    await close();
    expect(await relate!(pairs.toReversed())).toEqual(first.toReversed());
    await expect(relate!([['7', '6']])).rejects.toMatchObject({ code: 'closed' });
  });

  it('gives the sigmoid of a cross-encoder, of pairs of different lengths in one batch', async () => {
    await using('similarity', { head: SIMILARITY_HEAD }, async ({ compare }) => {
      const expected = PAIRS.map(({ ids, second }) => {
        const [logit] = applyHead(SIMILARITY_HEAD, meanOf(ids, second));
        return expect.closeTo(1 / (1 + Math.exp(-logit!)), 5);
      });
      expect(await compare!(pairs)).toEqual(expected);
    });
  });

  it('gives sentences the mean of their rows, of length 1, without padding', async () => {
    await using('sentence', { head: 'sentence' }, async ({ embed }) => {
      const means = [meanOf([2, 9, 3]), meanOf([2, 4, 10, 11, 6, 7, 3])];
      const expected = means.map((mean) => mean.map((x) => expect.closeTo(x / Math.hypot(...mean), 5)));
      expect(await embed!(['six', 'the difference is 6'])).toEqual(expected);
    });
  });

  it('serves many at once, more than one run holds, in their order', async () => {
    await using(
      'similarity',
      { head: SIMILARITY_HEAD, file: 'model_quantized.onnx' },
      async ({ compare }) => {
        const [a, b] = await compare!(pairs);
        const many = Array.from({ length: 700 }, (_, i) => pairs[i % 2]!);
        const [first, second] = await Promise.all([compare!(many), compare!(many.toReversed())]);
        expect(first).toEqual(many.map((_, i) => expect.closeTo(i % 2 === 0 ? a! : b!, 6)));
        expect(second).toEqual(first!.toReversed());
      },
    );
  });

  it('cuts what is longer than the model has positions', async () => {
    await using(
      'sentence',
      { head: 'sentence', config: { max_position_embeddings: 8 } },
      async ({ embed }) => {
        const [long, short] = await embed!(['six '.repeat(300), 'six '.repeat(6)]);
        expect(long).toEqual(short);
      },
    );
  });

  it('closes those that opened when another does not', async () => {
    const nli = await write({ head: NLI_HEAD });
    const similarity = await write({ head: NLI_HEAD, config: { id2label: idsOf(['one']) } });
    await expect(openEncoders({ nli, similarity })).rejects.toThrow(
      /similarity process could not be started: .*onnx: output logits: has 3 labels, but config.json has 1/,
    );
  });
});

it('says so when its process dies, and asks a new one', async () => {
  const encoder = await Encoder.open(await write({ head: SIMILARITY_HEAD }), 'similarity');
  try {
    const [before] = await encoder.encode(pairs);
    const long = encoder.encode(Array.from({ length: 20_000 }, () => pairs[1]!));
    process.kill(encoder.pid!, 'SIGKILL');
    await expect(long).rejects.toMatchObject({ code: 'crashed' });
    expect((await encoder.encode(pairs))[0]).toEqual(before);
  } finally {
    await encoder.close();
  }
});

describe('readEncoderFolder', () => {
  it('says how many positions there are: RoBERTa counts from behind its padding', async () => {
    const tokensOf = async (config: object, use: EncoderUse) =>
      (await readEncoderFolder(await write({ head: 'sentence', config }), use)).maxTokens;
    expect(
      await tokensOf({ max_position_embeddings: 514, model_type: 'roberta', pad_token_id: 1 }, 'similarity'),
    ).toBe(512);
    expect(await tokensOf({ max_position_embeddings: 512, model_type: 'bert' }, 'sentence')).toBe(256);
    expect(await tokensOf({ max_position_embeddings: 100 }, 'sentence')).toBe(100);
  });

  const labels = (...names: string[]) => ({ id2label: idsOf(names) });
  it.each<[EncoderUse, object, RegExp]>([
    ['nli', { id2label: null }, /config.json: id2label: needs the labels entailment/],
    ['nli', labels('LABEL_0'), /id2label.0: "LABEL_0" is none of entail/],
    ['nli', labels('entailment', 'neutral', 'not_entailment'), /id2label.2: "not_entailment" is given twice/],
    ['similarity', labels('a', 'b'), /id2label: has 2 labels; a similarity cross-encoder/],
    ['nli', { max_position_embeddings: 'many' }, /config.json: max_position_embeddings: expected/],
    ['nli', { max_position_embeddings: 4 }, /config.json: leaves room for only 4 tokens/],
  ])('refuses %s with %j', async (use, config, problem) => {
    const folder = await write({ head: 'sentence', config });
    await expect(readEncoderFolder(folder, use)).rejects.toThrow(problem);
  });

  it('names what is not there', async () => {
    const folder = await write({ head: 'sentence' });
    await expect(readEncoderFolder(join(folder, 'none'), 'nli')).rejects.toThrow(
      /none: has no onnx\/model.onnx, model.onnx, onnx\/model_quantized.onnx/,
    );
    await rm(join(folder, 'config.json'));
    await expect(readEncoderFolder(folder, 'sentence')).rejects.toThrow(/config.json: the file is missing/);
  });
});

describe('a graph that does not fit', () => {
  const inputs = ['input_ids', 'attention_mask', 'position_ids'];
  it.each<[Omit<TinyEncoder, 'head'>, RegExp]>([
    [{ inputs }, /model.onnx: input position_ids: is not supported \(supported: input_ids, /],
    [{ inputs: ['token_type_ids', 'attention_mask'] }, /model.onnx: input input_ids: is missing/],
    [{ output: 'logits' }, /output last_hidden_state or token_embeddings: is missing \(outputs: logits\)/],
    [{ tokenizer: {} }, /tokenizer.json: the tokenizer library rejects it/],
  ])('is refused: %j', async (options, problem) => {
    const encoder = await Encoder.open(await write({ head: 'sentence', ...options }), 'sentence');
    await expect(encoder.start()).rejects.toThrow(problem);
    await encoder.close();
  });

  it('is refused: no ONNX at all', async () => {
    const folder = await write({ head: 'sentence' });
    await writeFile(join(folder, 'onnx/model.onnx'), 'version https://git-lfs.github.com/spec/v1');
    const encoder = await Encoder.open(folder, 'sentence');
    await expect(encoder.start()).rejects.toThrow(/model.onnx: onnxruntime rejects it/);
    await encoder.close();
  });
});
