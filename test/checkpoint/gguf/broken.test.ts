import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseGguf } from '#src/checkpoint/gguf/header.js';
import {
  checkGgufFile,
  encodeGguf,
  GGUF_FIXTURES,
  type GgufParts,
  ggufFile,
  ggufParts,
  readGgufFile,
  readHeader,
} from '../../support/gguf.js';
import { modelError } from '../../support/graphs.js';
import { mutated, runs } from '../../support/mutations.js';

const original = ggufParts(ggufFile('pieces'));
const file = 'folder/x.gguf';
const refusal = async (parts: Partial<GgufParts>) =>
  (await modelError(() => readGgufFile(encodeGguf({ ...original, ...parts }), file))).message.replace(
    `${file}: `,
    '',
  );
const withMetadata = (metadata: Record<string, unknown>) =>
  refusal({ metadata: { ...original.metadata, ...metadata } });
const withTensor = (name: string, change: Partial<GgufParts['tensors'][string]>) =>
  refusal({ tensors: { ...original.tensors, [name]: { ...original.tensors[name]!, ...change } } });

describe('a GGUF file that cannot be used is refused by the field', () => {
  const ggml = 'tokenizer.ggml';

  it.each([
    [`${ggml}.model`, 'bert', /"bert" is not supported \(supported: gpt2, llama\)/],
    [`${ggml}.model`, 'gpt2', /^tokenizer\.ggml\.pre: is missing/],
    [`${ggml}.tokens`, ['a', 'b', 'a'], /^tokenizer\.ggml\.tokens\[2\]: "a" is also token 0/],
    [`${ggml}.tokens`, 'a', /^tokenizer\.ggml\.tokens: .*expected array/],
    [`${ggml}.token_type`, [1, 2], /^tokenizer\.ggml\.token_type: has 2 entries for 400 tokens/],
    [`${ggml}.scores`, [1.5], /^tokenizer\.ggml\.scores: has 1 entries for 400 tokens/],
    [`${ggml}.scores`, Array(400).fill(0.5).fill(Number.NaN, 7, 8), /^tokenizer\.ggml\.scores\[7\]: .*NaN/],
    [`${ggml}.eos_token_id`, 400, /^tokenizer\.ggml\.eos_token_id: 400 is outside the vocabulary of 400/],
    [`${ggml}.bos_token_id`, -1, /^tokenizer\.ggml\.bos_token_id: /],
    ['tokenizer.chat_template', '{% for', /^chat_template: /],
    [
      'general.architecture',
      'mamba',
      /^general\.architecture: "mamba" is not supported \(supported: llama, /,
    ],
    ['general.alignment', 3, /^general\.alignment: expected a power of two from 8, found 3/],
    ['split.count', 3, /^split\.count: .*llama-gguf-split --merge/],
    ['llama.expert_count', 8, /^llama\.expert_count: mixtures of experts are not supported/],
    ['llama.block_count', 2, /^blk\.1\.attn_norm\.weight: is missing \(expected \[32\]\)/],
    [
      'llama.embedding_length',
      64,
      /^token_embd\.weight: has dimensions \[32,400\], the metadata implies \[64,400\]/,
    ],
    ['llama.embedding_length', undefined, /^llama\.embedding_length: /],
    ['llama.attention.head_count', 5, /./],
    ['llama.attention.value_length', 8, /^llama\.attention\.value_length: 8 differs from that of keys, 16/],
    ['llama.rope.dimension_count', 8, /partial_rotary_factor/],
    [
      'llama.attention.sliding_window',
      16,
      /^llama\.attention\.sliding_window: 16 is not supported for llama/,
    ],
    ['llama.logit_scale', 2, /^llama\.logit_scale: is not supported/],
    ['llama.rope.scaling.yarn_ext_factor', 2, /^llama\.rope\.scaling\.yarn_ext_factor: is not supported/],
    ['llama.rope.scaling.alpha', 1, /^llama\.rope\.scaling\.alpha: is not supported/],
    ['llama.rope.dimension_sections', [1, 2], /^llama\.rope\.dimension_sections: is not supported/],
    ['llama.rope.scaling.type', 'other', /^rope_scaling\.rope_type: "other" is not supported/],
  ])('%s, case %#', async (key, value, message) => {
    expect(await withMetadata({ [key]: value })).toMatch(message);
  });

  it('a text that is needed and not UTF-8; one about the model may be anything', async () => {
    const withLatin1 = (key: string) => {
      const metadata = { ...original.metadata, [key]: 'Caf?' };
      const bytes = Buffer.from(encodeGguf({ ...original, metadata }));
      bytes[bytes.indexOf('Caf?') + 3] = 0xe9;
      return bytes;
    };
    const { message } = await modelError(() => readGgufFile(withLatin1('tokenizer.chat_template'), file));
    expect(message).toContain('tokenizer.chat_template: is not UTF-8');
    expect(readHeader(withLatin1('general.description')).metadata.get('general.description')).toBe(
      'Caf\ufffd',
    );
  });

  it('a piece so long that to cut it everywhere would take forever', async () => {
    const tokens = Array.from({ length: 400 }, (_, i) => `${i}`.repeat(i === 300 ? 10_000 : 1));
    expect(await withMetadata({ 'tokenizer.ggml.tokens': tokens })).toMatch(
      /^tokenizer\.ggml\.tokens\[300\]: has 30000 characters \(at most 512\)/,
    );
  });

  it('a merge of what is no token', async () => {
    const { metadata, tensors } = ggufParts(ggufFile('tiny-qwen2'));
    const merges = ['t he', 'nothing'];
    const changed = { metadata: { ...metadata, 'tokenizer.ggml.merges': merges }, tensors };
    expect(await refusal(changed)).toMatch(/^tokenizer\.ggml\.merges\[0\]: "t he": "the" is no token/);
  });

  it.each([
    [{ dims: [33, 400] }, /^token_embd\.weight: has rows of 33, but Q8_0 is stored in blocks of 32/],
    [{ dims: [32, 0] }, /^token_embd\.weight: has dimensions \[32,0\]/],
    [{ dims: [32, 2 ** 52] }, /^token_embd\.weight: has dimensions/],
    [{ dims: [32] }, /^token_embd\.weight: is missing, or is no matrix/],
    [{ dims: [32, 1, 1, 1, 1] }, /^token_embd\.weight: has 5 dimensions/],
    [{ type: 10 }, /^token_embd\.weight: Q2_K is not supported \(supported: F32, F16, Q4_0/],
    [{ type: 99 }, /^token_embd\.weight: type 99 is not supported/],
    [{ type: 0 }, /overlaps|ends at/],
  ])('a tensor with %j', async (change, message) => {
    expect(await withTensor('token_embd.weight', change)).toMatch(message);
  });

  it('a tensor that would change the computation', async () => {
    const tensor = original.tensors['output_norm.weight']!;
    const tensors = { ...original.tensors, 'blk.0.attn_q_norm.weight': tensor };
    expect(await refusal({ tensors })).toMatch(/^blk\.0\.attn_q_norm\.weight: is no weight of a llama model/);
  });

  const bytes = readFileSync(ggufFile('pieces'));
  const { byteLength } = readHeader(bytes);
  const problem = async (changed: Uint8Array) =>
    (await modelError(() => readGgufFile(changed, file))).message.replace(`${file}: `, '');
  const patched = (at: number, value: bigint) => {
    const copy = Uint8Array.from(bytes);
    new DataView(copy.buffer).setBigUint64(at, value, true);
    return copy;
  };

  const scores = bytes.indexOf('scores');

  it.each([
    [/^magic: expected GGUF, found "GGML"/, Buffer.from('GGML0000')],
    [/^magic: the file is cut off there: download it again$/, Buffer.from('')],
    [/^version: 9 \(supported: 2, 3, little-endian\)/, patched(0, 0x0000_0009_4655_4747n)],
    [/^version: is that of a big-endian file/, patched(0, 0x0300_0000_4655_4747n)],
    [/^tensor_count: 9223372036854775808 does not fit/, patched(8, 2n ** 63n)],
    [/^metadata_kv_count: 9223372036854775808 does not fit/, patched(16, 2n ** 63n)],
    [/^metadata\[0\]: 9223372036854775808 does not fit/, patched(24, 2n ** 63n)],
    [/^tokenizer\.ggml\.scores: an array of arrays/, patched(scores + 6, 0x0000_0009_0000_0009n)],
    [/^tokenizer\.ggml\.scores: has a value of type 77/, patched(scores + 6, 77n)],
    [/^tokenizer\.ggml\.scores: 4611686018427387904 does not fit/, patched(scores + 14, 2n ** 62n)],
    [/does not fit|cut off|has a value of type/, patched(16, bytes.readBigUInt64LE(16) + 1n)], // one too many
    [/^tokenizer\.ggml\.\w+(\[\d+\])?: /, bytes.subarray(0, 2000)],
    [/cut off|does not fit/, bytes.subarray(0, byteLength - 64)],
    [
      new RegExp(
        `^\\S+: the file is cut off \\(${bytes.length - 100} of ${bytes.length} bytes\\): download it again$`,
      ),
      bytes.subarray(0, bytes.length - 100),
    ],
  ])('by bytes: %s', async (message, changed) => {
    expect(await problem(changed)).toMatch(message);
  });

  it('by the sizes of a large file that is cut off', async () => {
    const last = Math.max(...[...readHeader(bytes).tensors.values()].map(({ offset }) => offset));
    const place = Buffer.alloc(8);
    place.writeBigUInt64LE(BigInt(last - byteLength));
    const moved = patched(bytes.lastIndexOf(place, byteLength), 491_000_000n);
    expect(await problem(moved)).toMatch(/: the file is cut off \(0 of 492 MB\): download it again$/);
  });

  it('asks for more bytes while it has not seen the whole header', () => {
    expect(parseGguf(bytes.subarray(0, 2000), bytes.length, file)).toBeNull();
    expect(parseGguf(bytes.subarray(0, byteLength), bytes.length, file)?.byteLength).toBe(byteLength);
  });
});

it.each(GGUF_FIXTURES)('%s, its metadata changed, is read or refused by field', (name) => {
  const { metadata, tensors } = ggufParts(ggufFile(name));
  const others = ['gpt2', 'llama', 'qwen2', 'smollm', Array(400).fill(1), Array(400).fill('a')];
  fc.assert(
    fc.property(mutated(metadata, others), ({ value }) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
      checkGgufFile(encodeGguf({ metadata: Object.fromEntries(Object.entries(value)), tensors }), file);
    }),
    { numRuns: runs(200) },
  );
});
