import { execFileSync } from 'node:child_process';
import { mkdir, open, readFile, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import {
  FIXTURES,
  filesOf,
  fixture,
  folder,
  json,
  modelError,
  REASONER,
  safetensors,
} from '../support/graphs.js';

const entry = (dtype: unknown, shape: unknown, ...data_offsets: unknown[]) => ({
  dtype,
  shape,
  data_offsets,
});
const one = (value: unknown) => ({ w: value });

describe('readSafetensors', () => {
  it.each([...FIXTURES.map(fixture), REASONER])('finds the bytes of every tensor of %s', async (dir) => {
    const tensors = await readSafetensors(dir);
    const norm = tensors.get('model.norm.weight')!;
    const size = { fp32: 4, bf16: 2, fp16: 2 }[norm.type!];
    expect(norm.byteLength).toBe(norm.shape[0]! * size);
    // Independent of the reader: the same bytes, found through the header as text.
    const bytes = await readFile(norm.file);
    const headerLength = Number(bytes.readBigUInt64LE());
    const header = JSON.parse(bytes.toString('utf8', 8, 8 + headerLength));
    const [begin, end] = header['model.norm.weight'].data_offsets;
    expect([norm.offset, norm.byteLength]).toEqual([8 + headerLength + begin, end - begin]);
    expect(norm.file).toBe(await realpath(norm.file));
  });

  it('joins the shards of an index', async () => {
    const tensors = await readSafetensors(fixture('tiny-llama'));
    const { weight_map } = await json(fixture('tiny-llama'), 'model.safetensors.index.json');
    expect([...tensors.keys()].sort()).toEqual(Object.keys(weight_map ?? {}).sort());
    expect(tensors.get('lm_head.weight')?.file).toMatch(/model-00002-of-00002\.safetensors$/);
  });

  it('reads the types that weights are stored in, and others without one', async () => {
    const dir = await folder({
      'model.safetensors': safetensors(
        {
          __metadata__: { format: 'pt' },
          a: entry('F32', [2], 0, 8),
          b: entry('BF16', [2], 8, 12),
          c: entry('F16', [2], 12, 16),
          ids: entry('I64', [1], 16, 24),
          fresh: entry('F3_NEW', [7], 24, 25),
          scalar: entry('F32', [], 25, 29),
          none: entry('F32', [0, 4], 29, 29),
        },
        29,
      ),
    });
    const tensors = await readSafetensors(dir);
    expect([...tensors.values()].map(({ name, dtype, type, shape }) => [name, dtype, type, shape])).toEqual([
      ['a', 'F32', 'fp32', [2]],
      ['b', 'BF16', 'bf16', [2]],
      ['c', 'F16', 'fp16', [2]],
      ['ids', 'I64', null, [1]],
      ['fresh', 'F3_NEW', null, [7]],
      ['scalar', 'F32', 'fp32', []],
      ['none', 'F32', 'fp32', [0, 4]],
    ]);
  });

  it('keeps tensors named like members of Object', async () => {
    const header = `{"__proto__": ${JSON.stringify(entry('F32', [1], 0, 4))}, "constructor": ${JSON.stringify(entry('F32', [1], 4, 8))}}`;
    const dir = await folder({ 'model.safetensors': safetensors(header, 8) });
    expect([...(await readSafetensors(dir)).keys()]).toEqual(['__proto__', 'constructor']);
  });

  it('follows the links of a Hugging Face cache to the files themselves', async () => {
    const dir = await folder({});
    await mkdir(join(dir, 'snapshots'));
    await symlink(await realpath(join(fixture('tiny-qwen2'), 'model.safetensors')), join(dir, 'blob'));
    await symlink('../blob', join(dir, 'snapshots/model.safetensors'));
    const tensors = await readSafetensors(join(dir, 'snapshots'));
    expect(tensors.get('model.norm.weight')?.file).toBe(
      await realpath(join(fixture('tiny-qwen2'), 'model.safetensors')),
    );
  });

  it('reads no weights: a file of 64 GB opens at once', async () => {
    const bytes = 2 ** 36;
    const dir = await folder({
      'model.safetensors': safetensors(one(entry('F32', [bytes / 4], 0, bytes)), 0),
    });
    const handle = await open(join(dir, 'model.safetensors'), 'r+');
    const { size } = await handle.stat();
    await handle.truncate(size + bytes); // sparse: takes no disk
    await handle.close();
    expect((await readSafetensors(dir)).get('w')?.byteLength).toBe(bytes);
  });
});

describe('a broken header is refused by file and tensor', () => {
  /** A file with the tensor `w`, and so many bytes of data. */
  const w = (data: number, ...parts: Parameters<typeof entry>) => safetensors(one(entry(...parts)), data);
  const two = (data: number, v: unknown, w: unknown) => safetensors({ v, w }, data);
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  const cases: [string, Uint8Array, RegExp][] = [
    ['header length', new Uint8Array(0), /ends after 0 bytes/],
    ['header length', new Uint8Array(5), /ends after 5 bytes/],
    ['header length', safetensors('', 0), /is 0/],
    ['header length', safetensors('{}', 0, 3n), /3 does not fit/],
    ['header length', safetensors('{}', 0, 2n ** 63n), /9223372036854775808 exceeds/],
    ['header length', safetensors('{}', 0, 2n ** 64n - 1n), /18446744073709551615 exceeds/],
    ['header length', safetensors('{}', 0, 33_554_433n), /exceeds 33554432/],
    ['header', safetensors('{"w":', 0), /not JSON/],
    ['header', safetensors('[]', 0), /expected an object, found \[\]/],
    ['header', safetensors(deep, 0), /: header: nests deeper than 1000 levels$/],
    ['""', safetensors({ '': 7 }, 0), /"": expected an object, found 7/],
    ['w', safetensors(one(7), 0), /expected an object, found 7/],
    ['w.dtype', safetensors(one({ shape: [1], data_offsets: [0, 4] }), 4), /expected a string/],
    ['w.dtype', w(4, 4, [1], 0, 4), /found 4/],
    ['w.shape', w(4, 'F32', [-1], 0, 4), /found \[-1\]/],
    ['w.shape', w(2, 'F32', [0.5], 0, 2), /found \[0.5\]/],
    ['w.shape', w(4, 'F32', [2 ** 53], 0, 4), /expected sizes/],
    ['w.shape', w(4, 'F32', [2 ** 30, 2 ** 30], 0, 4), /too large/],
    ['w.shape', w(4, 'F32', 1, 0, 4), /found 1/],
    ['w.data_offsets', w(4, 'F32', [1], 0), /\[begin, end\]/],
    ['w.data_offsets', w(4, 'F32', [1], 0, 4, 8), /\[begin, end\]/],
    ['w.data_offsets', w(4, 'F32', [1], 4, 0), /\[begin, end\]/],
    ['w.data_offsets', w(4, 'F32', [1], -4, 0), /expected two offsets/],
    ['w.data_offsets', w(4, 'F32', [2], 0, 8), /8 is past the end, 4/],
    ['w.data_offsets', w(4, 'F32', [2], 0, 4), /span 4 bytes, F32 \[2\] needs 8/],
    ['w.data_offsets', w(4, 'I64', [2], 0, 4), /needs 16/],
    ['w.data_offsets', two(8, entry('F32', [2], 0, 8), entry('F32', [1], 4, 8)), /overlaps/],
    ['w.data_offsets', two(4, entry('F32', [1], 0, 4), entry('F32', [1], 0, 4)), /overlaps/],
    ['w.data_offsets', w(8, 'F32', [1], 4, 8), /leaves a gap before it/],
    ['w.data_offsets', two(12, entry('F32', [1], 0, 4), entry('F32', [1], 8, 12)), /leaves a gap before it/],
    ['header', w(6, 'F32', [1], 0, 4), /2 bytes at the end/],
    ['header', safetensors('{"?": 0}', 0).map((byte) => (byte === 0x3f ? 0xff : byte)), /not JSON in UTF-8/],
  ];

  it.each(cases)('%s, case %#', async (field, bytes, message) => {
    const dir = await folder({ 'model.safetensors': bytes });
    const error = await modelError(() => readSafetensors(dir));
    expect(error).toMatchObject({ file: join(dir, 'model.safetensors'), field });
    expect(error.message).toMatch(message);
  });

  it('a name of megabytes, in a message that can be read', async () => {
    const name = 'w'.repeat(2 << 20);
    const dir = await folder({ 'model.safetensors': safetensors({ [name]: 7 }, 0) });
    const error = await modelError(() => readSafetensors(dir));
    expect([error.field, error.message.length < 1000]).toEqual([name, true]);
  });
});

describe('a broken index is refused by file and tensor', () => {
  const shard = safetensors(one(entry('F32', [1], 0, 4)), 4);
  const INDEX = 'model.safetensors.index.json';

  const paths = ['../a.safetensors', '..', '/etc/passwd', '/tmp/a.safetensors', 'sub/a.safetensors'];
  const names = [...paths, 'C:\\a.safetensors', 'a\0.safetensors', 'pytorch_model.bin', 1];

  it.each<[string, unknown, RegExp]>([
    ['weight_map', {}, /expected an object/],
    ['weight_map', [], /expected an object/],
    ...names.map((w): [string, unknown, RegExp] => [
      'weight_map.w',
      { weight_map: { w } },
      /file name, found/,
    ]),
    ['weight_map', { weight_map: { w: 'b.safetensors' } }, /"b\.safetensors", which does not exist/],
    ['weight_map.x', { weight_map: { w: 'a.safetensors', x: 'a.safetensors' } }, /does not contain/],
  ])('%s of %j', async (field, index, message) => {
    const dir = await folder({ 'a.safetensors': shard, [INDEX]: index as object });
    const error = await modelError(() => readSafetensors(dir));
    expect(error).toMatchObject({ file: join(dir, INDEX), field });
    expect(error.message).toMatch(message);
  });

  it('a tensor in two shards', async () => {
    const other = safetensors({ w: entry('F32', [1], 0, 4), x: entry('F32', [1], 4, 8) }, 8);
    const index = { weight_map: { w: 'a.safetensors', x: 'b.safetensors' } };
    const dir = await folder({ 'a.safetensors': shard, 'b.safetensors': other, [INDEX]: index });
    const error = await modelError(() => readSafetensors(dir));
    expect(error).toMatchObject({ file: join(dir, 'b.safetensors'), field: 'w' });
    expect(error.message).toMatch(/another shard/);
  });

  it('a shard that is broken itself', async () => {
    const files = await filesOf(fixture('tiny-llama'));
    const name = 'model-00002-of-00002.safetensors';
    const dir = await folder({ ...files, [name]: files[name]!.subarray(0, -1) });
    expect(await modelError(() => readSafetensors(dir))).toMatchObject({
      file: join(dir, name),
      field: 'lm_head.weight.data_offsets',
    });
  });
});

describe('files that are no files', () => {
  it.skipIf(process.platform === 'win32').each<[string, (file: string) => unknown, RegExp]>([
    ['nothing', () => {}, /: contains neither model\.safetensors nor model\.safetensors\.index\.json/],
    ['a folder', (file) => mkdir(file), /model\.safetensors: is not a file/],
    ['a pipe, which nobody will ever write to', (file) => execFileSync('mkfifo', [file]), /is not a file/],
    ['a circle of links', (file) => symlink(file, file), /model\.safetensors: cannot be read/],
  ])('%s', async (_, make, message) => {
    const dir = await folder({});
    await make(join(dir, 'model.safetensors'));
    expect((await modelError(() => readSafetensors(dir))).message).toMatch(message);
  });
});
