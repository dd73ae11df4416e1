import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import type { Conversion } from '#src/checkpoint/conversion.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import { calibrationFileOf } from '#src/risk/calibration-file.js';
import { useFolder } from '../../support/cli.js';
import { encodeGguf, ggufFile, ggufParts } from '../../support/gguf.js';
import { largestDifference } from '../../support/golden.js';
import { fixture, modelError } from '../../support/graphs.js';
import { logprobsOf } from '../../support/weights.js';

const folder = useFolder();
beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', folder.path('cache')));
afterAll(() => void vi.unstubAllEnvs());

const FAMILIES = [
  ...['tiny-llama', 'tiny-qwen2', 'tiny-qwen3', 'tiny-smollm3', 'tiny-olmo2', 'tiny-gemma2', 'tiny-gemma3'],
] as const;
const scored = z.object({ ids: z.array(z.number()), logprobs: z.array(z.number()) });
/** Made by `make.py`: float64 values of `transformers` with the weights that `gguf` dequantises, ids of SentencePiece. */
const golden = z
  .object({
    models: z.record(z.enum(FAMILIES), scored),
    pieces: z.array(z.object({ text: z.string(), ids: z.array(z.number()) })),
  })
  .parse(JSON.parse(readFileSync('test/fixtures/gguf/golden.json', 'utf8')));

describe.each(FAMILIES)('%s.gguf', (name) => {
  it('gives the log-probabilities of its own weights, of seven types, dequantised', async () => {
    const { ids, logprobs } = golden.models[name];
    const found = await logprobsOf(await openCheckpoint(ggufFile(name)), ids);
    expect(largestDifference(found, logprobs)).toBeLessThan(5e-5);
  });
});

describe.each(['tiny-llama', 'tiny-qwen2'] as const)('%s.gguf', (name) => {
  it('has the configuration and the tokens of the checkpoint that it was made of', async () => {
    const [file, original] = [await openCheckpoint(ggufFile(name)), await openCheckpoint(fixture(name))];
    const { eosTokenIds, normEpsilon, ...config } = original.config;
    expect(file.config).toMatchObject(config);
    expect(file.config.normEpsilon).toBe(Math.fround(normEpsilon));
    expect(file.eosTokenIds).toEqual([...eosTokenIds, 637]); // <|endoftext|> ends an answer, as in llama.cpp
    const text = "Hello, I'll add 12 + 30:\n\n  42 <|im_end|>";
    expect(file.tokenizer.encode(text)).toEqual(original.tokenizer.encode(text));
    expect(file.tokenizer.units?.rules).toEqual({ ...original.tokenizer.units?.rules, composes: false });
    expect(file.chatTemplate.source).toBe(original.chatTemplate.source);
    expect(calibrationFileOf(file)).toBe(resolve(`test/fixtures/gguf/${name}.calibration.json`));
    expect(file).toMatchObject({ name, generation: { sample: false, topK: null } });
  });
});

it('YaRN is that of the file, with the numbers of turns between which it changes frequencies', async () => {
  const parts = ggufParts(ggufFile('tiny-llama'));
  const yarn = {
    type: 'yarn',
    factor: 4,
    original_context_length: 64,
    yarn_beta_fast: 16,
    yarn_beta_slow: 2,
  };
  const keys = Object.entries({ ...yarn, finetuned: true, yarn_attn_factor: 1 });
  const scaling = Object.fromEntries(keys.map(([key, value]) => [`llama.rope.scaling.${key}`, value]));
  const tensors = Object.fromEntries(
    Object.entries(parts.tensors).filter(([name]) => name !== 'rope_freqs.weight'),
  );
  const file = folder.path('yarn.gguf');
  writeFileSync(file, encodeGguf({ metadata: { ...parts.metadata, ...scaling }, tensors }));
  const { config } = await openCheckpoint(file);
  expect(config.ropes[0]?.scaling).toMatchObject({
    type: 'yarn',
    factor: 4,
    originalMaxPositions: 64,
    betaFast: 16,
    betaSlow: 2,
    attentionFactor: 0.1 * Math.log(4) + 1,
  });
});

describe('a SentencePiece tokenizer', () => {
  it.each(golden.pieces)('encodes $text as SentencePiece, and back', async ({ text, ids }) => {
    const { tokenizer } = await openCheckpoint(ggufFile('pieces'));
    expect(tokenizer.encode(text)).toEqual(ids);
    expect(tokenizer.decode(ids)).toBe(text);
    expect(tokenizer.prefix).toEqual([1]);
  });
});

describe('the folder that is made of a GGUF file', () => {
  it('is made once, with progress, and found again', async () => {
    const file = folder.path('once.gguf');
    writeFileSync(file, changed('tiny-qwen2', { 'general.name': 'once' }));
    const seen: Conversion[] = [];
    const { dir, gguf, weightBytes } = await openCheckpoint(file, { onConversion: (at) => seen.push(at) });
    expect(readdirSync(dir).toSorted()).toEqual([
      ...['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'],
    ]);
    expect(seen.at(-1)).toMatchObject({ file, folder: dir, written: seen[0]?.total });
    const { mtimeMs, size } = statSync(join(dir, 'model.safetensors'));
    // Vectors of fp32 stay in the GGUF file.
    expect([seen.at(-1)?.total, size < weightBytes + 2 ** 14]).toEqual([size, true]);
    expect(gguf).toMatchObject({ file, types: { F32: 16, Q8_0: 4, Q4_0: 3 } });
    await openCheckpoint(file, { onConversion: () => expect.unreachable() });
    expect(statSync(join(dir, 'model.safetensors')).mtimeMs).toBe(mtimeMs);
  });

  it.each([
    ['weights that are cut', (dir: string) => truncateSync(join(dir, 'model.safetensors'), 5000)],
    ['weights of another layout', (dir: string) => writeFileSync(join(dir, 'model.safetensors'), 'x')],
    ['another configuration', (dir: string) => writeFileSync(join(dir, 'config.json'), '{}')],
    ['no tokenizer', (dir: string) => rmSync(join(dir, 'tokenizer.json'))],
    ['a configuration of gigabytes', (dir: string) => truncateSync(join(dir, 'config.json'), 2 ** 32)],
  ])('is repaired where it has %s', async (_, spoil) => {
    const checkpoint = await openCheckpoint(ggufFile('pieces'));
    const made = contents(checkpoint.dir);
    spoil(checkpoint.dir);
    const again = await openCheckpoint(ggufFile('pieces'));
    expect(contents(again.dir)).toEqual(made);
    expect(await fingerprint(again)).toBe(await fingerprint(checkpoint));
  });

  it('has no fingerprint once a file of it is too large', async () => {
    const checkpoint = await openCheckpoint(ggufFile('pieces'));
    truncateSync(join(checkpoint.dir, 'tokenizer.json'), 2 ** 32);
    const error = await modelError(() => fingerprint(checkpoint));
    expect(error.message).toMatch(/tokenizer\.json: has 4294967296 bytes \(at most 67108864\)$/);
    await openCheckpoint(ggufFile('pieces')); // made anew for other tests
  });

  it('is whole when several open the file at once, whatever it is called', async () => {
    const file = folder.path('sha256-0a1b');
    writeFileSync(file, changed('pieces', { 'general.name': 'together' }));
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => openCheckpoint(file)));
    expect(first?.name).toBe('sha256-0a1b');
    expect(readdirSync(first!.dir)).toHaveLength(4);
    expect(others.map(({ weightBytes }) => weightBytes)).toEqual([first?.weightBytes, first?.weightBytes]);
  });

  it.each([
    ['NaN', [0x00, 0x7e]],
    ['infinity', [0x00, 0x7c]],
  ])('is not made of a scale that is %s: the tensor is named, and nothing is left', async (name, scale) => {
    const parts = ggufParts(ggufFile('pieces'));
    const { data } = parts.tensors['token_embd.weight']!;
    data.set(scale, 34 * 100);
    const file = folder.path(`${name}.gguf`);
    writeFileSync(file, encodeGguf(parts));
    const before = folders();
    const error = await modelError(() => openCheckpoint(file));
    expect([error.file, error.field]).toEqual([file, 'token_embd.weight']);
    expect(error.message).toMatch(/contains NaN or infinity/);
    const [made = ''] = folders().filter((dir) => !before.includes(dir));
    expect(
      readdirSync(folder.path(`cache/flinch/gguf/${made}`)).filter((each) => /safetensors/.test(each)),
    ).toEqual([]);
  });
});

const folders = (): string[] => readdirSync(folder.path('cache/flinch/gguf'));
const contents = (dir: string) =>
  readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString('base64')]);

function changed(name: string, metadata: Record<string, unknown>): Uint8Array {
  const parts = ggufParts(ggufFile(name));
  return encodeGguf({ ...parts, metadata: { ...parts.metadata, ...metadata } });
}
