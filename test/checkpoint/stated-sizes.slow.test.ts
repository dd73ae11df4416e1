import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { ggufTokenizer } from '#src/checkpoint/gguf/gguf-tokenizer.js';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { openTokenizer } from '#src/tokenizer/tokenizer.js';
import { encodeGguf, ggufFile, ggufParts, readHeader } from '../support/gguf.js';
import { filesOf, fixture, folder, modelError, safetensors } from '../support/graphs.js';
import { peakMemory } from '../support/peak-memory.js';

/** MiB. What is refused is refused before most of it is in memory. */
const MOST = 300;
const FIXTURE = fixture('tiny-qwen2');

async function expectRefused(path: string, message: RegExp): Promise<void> {
  let said = '';
  const peak = await peakMemory(async () => {
    said = (await modelError(() => openCheckpoint(path))).message;
  });
  expect(said).toMatch(message);
  expect(peak).toBeLessThan(MOST);
}

/** A file that goes on with zeros, which take no disk. */
async function sparse(path: string, start: Uint8Array | string, size: number): Promise<void> {
  const handle = await open(path, 'w');
  await handle.writeFile(start);
  await handle.truncate(size);
  await handle.close();
}

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
const text = (value: string): Uint8Array => Buffer.concat([u64(value.length), Buffer.from(value)]);
const [BYTE, TEXT, LIST] = [0, 8, 9];

describe('a GGUF file that states more than fits into memory is refused by the field', () => {
  const start = (tensors: number, entries: number, ...rest: readonly Uint8Array[]): Uint8Array =>
    Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors), u64(entries), ...rest]);
  const list = (key: string, type: number, count: number): Uint8Array =>
    start(1, 1, text(key), u32(LIST), u32(type), u64(count));

  const endless = start(1, 1, text('general.name'), u32(TEXT), u64(2e9));

  it.each([
    ['general\\.tags: 2000000000 does not fit', list('general.tags', BYTE, 2e9)],
    ['tokenizer\\.ggml\\.scores: 2000000000 does not fit', list('tokenizer.ggml.scores', BYTE, 2e9)],
    ['tokenizer\\.ggml\\.scores: states 20000000 entries', list('tokenizer.ggml.scores', BYTE, 2e7)],
    ['tokenizer\\.ggml\\.tokens: states 2000000 entries', list('tokenizer.ggml.tokens', TEXT, 2e6)],
    ['tensors\\[0\\]: has 0 dimensions', list('general.tags', BYTE, 3e7)], // up to the end of the header
    ['metadata_kv_count: 100000000 does not fit .*at most 33554432', start(1, 1e8)],
    ['metadata_kv_count: states 1000000 entries \\(at most 4096\\)', start(1, 1e6)],
    ['tensor_count: states 1000000 entries \\(at most 65536\\)', start(1e6, 0)],
    ['metadata\\[0\\]: 2000000000 does not fit', start(1, 1, u64(2e9))],
    ['general\\.name: 2000000000 does not fit', endless],
  ])('%s', async (message, bytes) => {
    const path = join(await folder({}), 'x.gguf');
    await sparse(path, bytes, 2 ** 31);
    await expectRefused(path, new RegExp(`: ${message}`));
  });

  const { metadata, tensors } = ggufParts(ggufFile('pieces'));
  const million = Array.from({ length: 1e6 }, () => 0.5);

  /** Pieces of which each can be cut anywhere. */
  const pieces = Array.from({ length: 24 * 512 }, (_, i) =>
    String.fromCharCode(97 + (i % 24)).repeat(1 + Math.floor(i / 24)),
  );
  const ones = pieces.map(() => 1);

  it.each([
    [{ tokens: million }, /: tokenizer\.ggml\.tokens\[0\]: expected string/],
    [{ scores: million.map(() => Number.NaN) }, /: tokenizer\.ggml\.scores\[0\]: /],
    [
      { tokens: pieces, scores: ones, token_type: ones },
      /: tokenizer\.ggml\.tokens: make more than 1048576 merges/,
    ],
  ])('lists of numbers and pieces, case %#', async (changes, message) => {
    const named = Object.entries(changes).map(([key, value]) => [`tokenizer.ggml.${key}`, value]);
    const bytes = encodeGguf({ metadata: { ...metadata, ...Object.fromEntries(named) }, tensors });
    await expectRefused(join(await folder({ 'x.gguf': bytes }), 'x.gguf'), message);
  });
});

const repeated = (count: number, entry: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => entry(i)).join();

describe('a folder with a file that says too much is refused by file and field', () => {
  const part = async (file: string, key: string, value: string): Promise<Record<string, string>> => {
    const json: object = { ...JSON.parse(await readFile(join(FIXTURE, file), 'utf8')), [key]: 'HERE' };
    return { [file]: JSON.stringify(json).replace('"HERE"', value) };
  };
  const ofTokenizer = (key: string, value: string) => part('tokenizer.json', key, value);
  const model = async (key: string, value: string) => {
    const { model } = JSON.parse(await readFile(join(FIXTURE, 'tokenizer.json'), 'utf8'));
    return ofTokenizer('model', JSON.stringify({ ...model, [key]: 'THERE' }).replace('"THERE"', value));
  };
  const names = [
    ...['config.json', 'tokenizer.json', 'tokenizer_config.json', 'generation_config.json'],
    ...['chat_template.jinja', 'chat_template.json', 'model.safetensors.index.json'],
  ];

  it.each(names)('%s of 128 MiB', async (name) => {
    const dir = await folder(await filesOf(FIXTURE));
    await rm(join(dir, 'model.safetensors'));
    await sparse(join(dir, name), '{', 2 ** 27);
    await expectRefused(
      dir,
      new RegExp(`/${name.replaceAll('.', '\\.')}: has 134217728 bytes \\(at most \\d+\\)`),
    );
  });

  const weights = (header: string) => async () => ({ 'model.safetensors': safetensors(header, 0) });
  const steps = (...pretokenizers: object[]) => JSON.stringify({ type: 'Sequence', pretokenizers });
  const emptyTensors = repeated(1e6, (i) => `"${i}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`);
  const [pattern, longText] = [{ Regex: '\\p{L}'.repeat(40_000) }, 'a'.repeat(4e7)];
  const spaces = { type: 'Metaspace', replacement: ' '.repeat(10) };
  const added = (_: unknown, i: number) => ({ id: 1e6 + i, content: `${i}`.padEnd(2000, `${7919 * i}`) });
  /** Their search tree would take gigabytes. */
  const longTokens = () => JSON.stringify(Array.from({ length: 6000 }, added));

  it.each<[string, () => Promise<Record<string, string | Uint8Array>>]>([
    ['model.safetensors: header length: \\d+ exceeds 33554432 bytes', weights(`{${emptyTensors}}`)],
    [
      'model.safetensors: header: has more than 2097152 names and values',
      weights(`{"__metadata__":[${repeated(1e7, () => '{}')}]}`),
    ],
    [
      'config.json: has more than 262144 names and values',
      () => part('config.json', 'layer_types', `[${repeated(5e6, () => '1')}]`),
    ],
    [
      'config.json: nests deeper than 1000 levels',
      () => part('config.json', 'quantization_config', '['.repeat(1001) + ']'.repeat(1001)),
    ],
    [
      'tokenizer.json: added_tokens: has 2900001 values \\(at most 262144\\)',
      () => ofTokenizer('added_tokens', `[${repeated(2.9e6, () => '1')}]`),
    ],
    [
      'tokenizer.json: has more than 3145728 names and values',
      () => ofTokenizer('decoder', `[${repeated(4e6, () => '1')}]`),
    ],
    [
      'tokenizer.json: model.vocab: has 600000 tokens \\(at most 524288\\)',
      () => model('vocab', `{${repeated(6e5, (i) => `"${i}":${i}`)}}`),
    ],
    [
      'tokenizer.json: model.merges: has more than 1048576 items',
      () => model('merges', `[${repeated(1.2e6, () => '"a b"')}]`),
    ],
    [
      'tokenizer.json: added_tokens: have 12000000 characters together \\(at most 262144\\)',
      () => ofTokenizer('added_tokens', longTokens()),
    ],
    [
      'tokenizer.json: normalizer.prepend: 40000000 characters are not supported \\(at most 16\\)',
      () => ofTokenizer('normalizer', JSON.stringify({ type: 'Prepend', prepend: longText })),
    ],
    [
      'tokenizer.json: pre_tokenizer.pretokenizers: make 100000 characters of one \\(at most 256\\)',
      () => ofTokenizer('pre_tokenizer', steps(spaces, spaces, spaces, spaces, spaces)),
    ],
    [
      'tokenizer.json: pre_tokenizer.pretokenizers\\[0\\].pattern.Regex: .*<=4096 characters',
      () => ofTokenizer('pre_tokenizer', steps({ type: 'Split', pattern, behavior: 'Isolated' })),
    ],
    [
      'chat_template.jinja: chat_template: has 5000000 characters \\(at most 1048576\\)',
      async () => ({ 'chat_template.jinja': '{{a}}'.repeat(1e6) }),
    ],
  ])('%s', async (message, files) => {
    const dir = await folder({ ...(await filesOf(FIXTURE)), ...(await files()) });
    await expectRefused(dir, new RegExp(message));
  });

  it('tokens before each text that multiply: they count as unknown', async () => {
    const single = Array(20_000).fill({ SpecialToken: { id: 'a' } });
    const special_tokens = { a: { ids: Array(20_000).fill(1) } };
    const processor = JSON.stringify({ type: 'TemplateProcessing', single, special_tokens });
    const dir = await folder({
      ...(await filesOf(FIXTURE)),
      ...(await ofTokenizer('post_processor', processor)),
    });
    const peak = await peakMemory(async () => {
      expect((await openTokenizer(dir, { vocabSize: 640 })).prefix).toBeNull();
    });
    expect(peak).toBeLessThan(MOST);
  });

  it('shards that have more tensors together', async () => {
    const shard = safetensors(
      `{${repeated(5e4, (i) => `"NAME${i}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`)}}`,
      0,
    );
    const shards = ['a', 'b', 'c'].map((name) => [
      `${name}.safetensors`,
      Buffer.from(Buffer.from(shard).toString('latin1').replaceAll('NAME', `${name}___`), 'latin1'),
    ]);
    const weight_map = { a___0: 'a.safetensors', b___0: 'b.safetensors', c___0: 'c.safetensors' };
    const dir = await folder({
      ...Object.fromEntries(shards),
      'model.safetensors.index.json': { weight_map },
    });
    const { message } = await modelError(() => readSafetensors(dir));
    expect(message).toMatch(/index\.json: weight_map: names files of more than 131072 tensors$/);
  });
});

describe('the largest real models are read', () => {
  const TOKENS = 262_144;
  const MERGES = 514_906;
  const tokens = Array.from({ length: TOKENS }, (_, i) => `▁t${i.toString(36)}`);

  it('a tokenizer.json of 262,144 tokens, 514,906 merges and 6415 added tokens', async () => {
    const special = Array.from({ length: 6415 }, (_, i) => ({
      id: i,
      content: `<unused${i}>`,
      special: true,
    }));
    const json = JSON.parse(await readFile(join(FIXTURE, 'tokenizer.json'), 'utf8'));
    const vocab = Object.fromEntries(tokens.map((token, i) => [token, 6415 + i]));
    const merges = Array.from({ length: MERGES }, (_, i) => [tokens[i % TOKENS], tokens[(7 * i) % TOKENS]]);
    const tokenizer = { ...json, added_tokens: special, model: { ...json.model, vocab, merges } };
    const dir = await folder({ 'tokenizer.json': JSON.stringify(tokenizer, null, 2) });
    expect((await openTokenizer(dir, { vocabSize: 2 ** 19 })).size).toBe(6415 + TOKENS);
  });

  it('a GGUF file of as many', () => {
    const { metadata, tensors } = ggufParts(ggufFile('tiny-qwen2'));
    const bytes = encodeGguf({
      metadata: {
        ...metadata,
        'tokenizer.ggml.tokens': tokens,
        'tokenizer.ggml.token_type': tokens.map(() => 1),
        'tokenizer.ggml.merges': Array.from(
          { length: MERGES },
          (_, i) => `${tokens[i % TOKENS]} ${tokens[i % 9]}`,
        ),
        'general.tags': ['a', 'b'],
      },
      tensors,
    });
    const header = readHeader(bytes);
    expect(header.metadata.get('tokenizer.ggml.merges')).toHaveLength(MERGES);
    expect(header.metadata.get('general.tags')).toEqual([]);
    expect(() => ggufTokenizer(header, 'x.gguf')).toThrow(/merges\[0\]: .* is no token/);
  });

  it('100,000 tensors in shards', async () => {
    const shard = (name: string): Uint8Array => {
      const entries = repeated(
        5e4,
        (i) => `"${name}${i}":{"dtype":"BF16","shape":[0,2048],"data_offsets":[0,0]}`,
      );
      return safetensors(`{${entries}}`, 0);
    };
    const all = ['a', 'b'].flatMap((name) =>
      Array.from({ length: 5e4 }, (_, i) => [`${name}${i}`, `${name}.safetensors`]),
    );
    const dir = await folder({
      'a.safetensors': shard('a'),
      'b.safetensors': shard('b'),
      'model.safetensors.index.json': { weight_map: Object.fromEntries(all) },
    });
    expect((await readSafetensors(dir)).size).toBe(1e5);
  });
});
