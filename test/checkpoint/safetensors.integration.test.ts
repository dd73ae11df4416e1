import { execFileSync } from 'node:child_process';
import { mkdir, open, readFile, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { parseHeader } from '#src/checkpoint/safetensors-header.js';
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
  const cases: [string, Uint8Array, string, RegExp][] = [
    ['an empty file', new Uint8Array(0), 'header length', /ends after 0 bytes/],
    ['a file shorter than the header length', new Uint8Array(5), 'header length', /ends after 5 bytes/],
    ['a header of length 0', safetensors('', 0), 'header length', /is 0/],
    ['a header longer than the file', safetensors('{}', 0, 3n), 'header length', /3 does not fit/],
    [
      'a header of 2^63 bytes',
      safetensors('{}', 0, 2n ** 63n),
      'header length',
      /9223372036854775808 exceeds/,
    ],
    [
      'a header of 2^64 - 1 bytes',
      safetensors('{}', 0, 2n ** 64n - 1n),
      'header length',
      /18446744073709551615 exceeds/,
    ],
    ['a header of more than 32 MiB', safetensors('{}', 0, 33_554_433n), 'header length', /exceeds 33554432/],
    ['no JSON', safetensors('{"w":', 0), 'header', /not JSON/],
    ['an array', safetensors('[]', 0), 'header', /expected an object, found \[\]/],
    [
      'a header that nests too deep',
      safetensors('['.repeat(20_000) + ']'.repeat(20_000), 0),
      'header',
      /: header: nests deeper than 1000 levels$/,
    ],
    ['a tensor without a name', safetensors({ '': 7 }, 0), '""', /"": expected an object, found 7/],
    ['a tensor that is no object', safetensors(one(7), 0), 'w', /expected an object, found 7/],
    [
      'a tensor without dtype',
      safetensors(one({ shape: [1], data_offsets: [0, 4] }), 4),
      'w.dtype',
      /expected a string/,
    ],
    ['a dtype that is no string', safetensors(one(entry(4, [1], 0, 4)), 4), 'w.dtype', /found 4/],
    ['a negative size', safetensors(one(entry('F32', [-1], 0, 4)), 4), 'w.shape', /found \[-1\]/],
    ['a fractional size', safetensors(one(entry('F32', [0.5], 0, 2)), 2), 'w.shape', /found \[0.5\]/],
    ['a size beyond 2^53', safetensors(one(entry('F32', [2 ** 53], 0, 4)), 4), 'w.shape', /expected sizes/],
    [
      'sizes whose product is beyond 2^53',
      safetensors(one(entry('F32', [2 ** 30, 2 ** 30], 0, 4)), 4),
      'w.shape',
      /too large/,
    ],
    ['a shape that is no list', safetensors(one(entry('F32', 1, 0, 4)), 4), 'w.shape', /found 1/],
    [
      'offsets that are no pair',
      safetensors(one(entry('F32', [1], 0)), 4),
      'w.data_offsets',
      /\[begin, end\]/,
    ],
    ['three offsets', safetensors(one(entry('F32', [1], 0, 4, 8)), 4), 'w.data_offsets', /\[begin, end\]/],
    [
      'offsets in the wrong order',
      safetensors(one(entry('F32', [1], 4, 0)), 4),
      'w.data_offsets',
      /\[begin, end\]/,
    ],
    [
      'negative offsets',
      safetensors(one(entry('F32', [1], -4, 0)), 4),
      'w.data_offsets',
      /expected two offsets/,
    ],
    [
      'offsets past the end',
      safetensors(one(entry('F32', [2], 0, 8)), 4),
      'w.data_offsets',
      /8 is past the end, 4/,
    ],
    [
      'fewer bytes than the shape needs',
      safetensors(one(entry('F32', [2], 0, 4)), 4),
      'w.data_offsets',
      /span 4 bytes, F32 \[2\] needs 8/,
    ],
    [
      'an int64 of the wrong size',
      safetensors(one(entry('I64', [2], 0, 4)), 4),
      'w.data_offsets',
      /needs 16/,
    ],
    [
      'overlapping tensors',
      safetensors({ v: entry('F32', [2], 0, 8), w: entry('F32', [1], 4, 8) }, 8),
      'w.data_offsets',
      /overlaps/,
    ],
    [
      'a tensor twice in one place',
      safetensors({ v: entry('F32', [1], 0, 4), w: entry('F32', [1], 0, 4) }, 4),
      'w.data_offsets',
      /overlaps/,
    ],
    [
      'a hole at the start',
      safetensors(one(entry('F32', [1], 4, 8)), 8),
      'w.data_offsets',
      /leaves a gap before it/,
    ],
    [
      'a hole between tensors',
      safetensors({ v: entry('F32', [1], 0, 4), w: entry('F32', [1], 8, 12) }, 12),
      'w.data_offsets',
      /leaves a gap before it/,
    ],
    [
      'bytes that no tensor claims',
      safetensors(one(entry('F32', [1], 0, 4)), 6),
      'header',
      /2 bytes at the end/,
    ],
  ];

  it.each(cases)('%s', async (_, bytes, field, message) => {
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

  it('bytes that are not UTF-8', async () => {
    const bytes = safetensors('{"?": 0}', 0);
    bytes[bytes.indexOf(0x3f)] = 0xff;
    const dir = await folder({ 'model.safetensors': bytes });
    expect(await modelError(() => readSafetensors(dir))).toMatchObject({ field: 'header' });
  });

  it('needs no file to be checked', async () => {
    const header = new TextEncoder().encode(JSON.stringify(one(entry('F16', [3], 0, 6))));
    const [tensor] = parseHeader(header, 8 + header.length + 6, header.length, 'x.safetensors');
    expect(tensor).toEqual({
      name: 'w',
      dtype: 'F16',
      type: 'fp16',
      shape: [3],
      offset: 8 + header.length,
      byteLength: 6,
    });
  });
});

describe('a broken index is refused by file and tensor', () => {
  const shard = safetensors(one(entry('F32', [1], 0, 4)), 4);
  const INDEX = 'model.safetensors.index.json';

  it.each([
    ['no weight_map', {}, 'weight_map', /expected an object/],
    ['no object at all', [], 'weight_map', /expected an object/],
    ['a parent folder', { weight_map: { w: '../a.safetensors' } }, 'weight_map.w', /"\.\.\/a\.safetensors"/],
    ['dots alone', { weight_map: { w: '..' } }, 'weight_map.w', /file name/],
    ['an absolute path', { weight_map: { w: '/etc/passwd' } }, 'weight_map.w', /file name/],
    [
      'an absolute path to safetensors',
      { weight_map: { w: '/tmp/a.safetensors' } },
      'weight_map.w',
      /file name/,
    ],
    ['a folder inside', { weight_map: { w: 'sub/a.safetensors' } }, 'weight_map.w', /file name/],
    ['a path of Windows', { weight_map: { w: 'C:\\a.safetensors' } }, 'weight_map.w', /file name/],
    ['a NUL', { weight_map: { w: 'a\0.safetensors' } }, 'weight_map.w', /file name/],
    ['another kind of file', { weight_map: { w: 'pytorch_model.bin' } }, 'weight_map.w', /file name/],
    ['a number', { weight_map: { w: 1 } }, 'weight_map.w', /file name/],
    [
      'a missing shard',
      { weight_map: { w: 'b.safetensors' } },
      'weight_map',
      /"b\.safetensors", which does not exist/,
    ],
    [
      'a shard without the tensor',
      { weight_map: { w: 'a.safetensors', x: 'a.safetensors' } },
      'weight_map.x',
      /does not contain/,
    ],
  ])('%s', async (_, index, field, message) => {
    const dir = await folder({ 'a.safetensors': shard, [INDEX]: index });
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
  it('a folder without weights', async () => {
    const dir = await folder({});
    const error = await modelError(() => readSafetensors(dir));
    expect(error.message).toMatch(/contains neither model\.safetensors nor model\.safetensors\.index\.json/);
    expect(error.file).toBe(dir);
  });

  it('a folder in place of the weights', async () => {
    const dir = await folder({});
    await mkdir(join(dir, 'model.safetensors'));
    expect((await modelError(() => readSafetensors(dir))).message).toMatch(
      /model\.safetensors: is not a file/,
    );
  });

  it.skipIf(process.platform === 'win32')('a pipe, which nobody will ever write to', async () => {
    const dir = await folder({});
    execFileSync('mkfifo', [join(dir, 'model.safetensors')]);
    expect((await modelError(() => readSafetensors(dir))).message).toMatch(/is not a file/);
  });

  it('links in a circle', async () => {
    const dir = await folder({});
    await symlink('model.safetensors', join(dir, 'model.safetensors'));
    expect((await modelError(() => readSafetensors(dir))).message).toMatch(
      /model\.safetensors: cannot be read/,
    );
  });
});
