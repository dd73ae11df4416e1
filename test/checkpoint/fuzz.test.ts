import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { parseConfig } from '#src/checkpoint/config.js';
import { parseGenerationConfig } from '#src/checkpoint/generation-config.js';
import { type HeaderEntry, parseHeader, parseHeaderLength } from '#src/checkpoint/safetensors-header.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { TemplateError } from '#src/files/errors.js';
import { decodeJson } from '#src/files/json.js';
import { parseWeightMap } from '#src/files/weight-map.js';
import { ChatTemplate } from '#src/tokenizer/chat-template.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { parseTokenizerConfig } from '#src/tokenizer/tokenizer-config.js';
import { checkConfig } from '../support/check-config.js';
import { FAMILY_CHECKPOINTS } from '../support/golden.js';
import { FIXTURES, filesOf, fixture, folder, json, safetensors } from '../support/graphs.js';
import { mutated, orRefuse, refused, runs, spliced } from '../support/mutations.js';

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const isRecord = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Tries `parse` on a file's JSON with values changed, on its text with parts changed, and on any JSON at all. What it
 * accepts must pass `check`.
 */
function fuzzJson<T>(
  original: unknown,
  usual: number,
  parse: (value: unknown, file: string) => T,
  check: (result: T) => void,
): void {
  const file = 'folder/file.json';
  const attempt = (value: unknown) => {
    const result = orRefuse(file, () => parse(value, file), !isRecord(value));
    if (result !== undefined) check(result);
  };
  fc.assert(
    fc.property(mutated(original), ({ value }) => attempt(value)),
    { numRuns: runs(usual) },
  );
  fc.assert(
    fc.property(spliced(bytesOf(original)), (bytes) => {
      const value = orRefuse(file, () => ({ json: decodeJson(bytes, file) }), true);
      if (value) attempt(value.json);
    }),
    { numRuns: runs(usual) },
  );
  fc.assert(fc.property(fc.jsonValue(), attempt), { numRuns: runs(usual / 4) });
}

/** `undefined` for what nests deeper than `JSON.stringify` can go, or is `undefined` itself. */
function printed(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** What is accepted lies in the file, without overlap, and is as long as its shape says. */
function checkEntries(entries: readonly HeaderEntry[], dataStart: number, fileSize: number): void {
  let end = dataStart;
  const inOrder = entries.toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  for (const { offset, byteLength, shape, type } of inOrder) {
    expect(offset).toBe(end);
    end += byteLength;
    if (type === null) continue;
    const bytes = type === 'fp32' ? 4 : 2;
    expect(shape.reduce((product, n) => product * n, bytes) === byteLength).toBe(true); // -0 is 0
  }
  expect(end).toBe(fileSize);
}

describe('whatever a file holds, it is read or refused by a ModelError that names file and field', () => {
  it.each([...FIXTURES, ...FAMILY_CHECKPOINTS])('config.json of %s', async (name) => {
    fuzzJson(await json(fixture(name), 'config.json'), 700, parseConfig, checkConfig);
  });

  it('generation_config.json', () => {
    const original = { eos_token_id: [1, 2], do_sample: true, temperature: 0.2, top_k: 5, top_p: 0.5 };
    fuzzJson(original, 2000, parseGenerationConfig, ({ eosTokenIds, temperature, topK, topP }) => {
      expect((eosTokenIds ?? []).every((id) => Number.isInteger(id) && id >= 0)).toBe(true);
      expect(temperature ?? 0).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(temperature ?? 0) && Number.isInteger(topK ?? 0)).toBe(true);
      expect((topP ?? 1) >= 0 && (topP ?? 1) <= 1).toBe(true);
    });
  });

  it('model.safetensors.index.json', async () => {
    const original = await json(fixture('tiny-llama'), 'model.safetensors.index.json');
    fuzzJson(original, 2000, parseWeightMap, (weightMap) => {
      for (const shard of weightMap.values()) expect(shard).toMatch(/^[^/\\]+\.safetensors$/);
    });
  });

  it('tokenizer_config.json', () => {
    const original = {
      bos_token: '<s>',
      eos_token: { content: '</s>' },
      additional_special_tokens: ['<tool>', { content: '<b>' }],
      extra_special_tokens: { image_token: '<image>' },
      chat_control_tokens: ['<b>'],
      added_tokens_decoder: { 296: { content: '<a>', special: true, lstrip: true } },
      chat_template: [
        { name: 'default', template: '{{ bos_token }}' },
        { name: 'tool_use', template: 'x' },
      ],
    };
    fuzzJson(original, 2000, parseTokenizerConfig, ({ addedTokens, namedTokens, chatTemplate }) => {
      expect(addedTokens.every(({ id }) => Number.isInteger(id) && id >= 0 && id < 2 ** 24)).toBe(true);
      const texts = [...namedTokens.values(), chatTemplate.plain ?? '', chatTemplate.toolUse ?? ''];
      expect(texts.every((text) => typeof text === 'string')).toBe(true);
    });
  });

  const header = {
    __metadata__: { format: 'pt' },
    a: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
    b: { dtype: 'BF16', shape: [4], data_offsets: [24, 32] },
    none: { dtype: 'F16', shape: [0, 7], data_offsets: [32, 32] },
    ids: { dtype: 'I64', shape: [1], data_offsets: [32, 40] },
  };
  const dataBytes = 40;
  const read = (file: Uint8Array) => {
    const result = orRefuse('x', () => {
      const length = parseHeaderLength(file.subarray(0, 8), file.length, 'x');
      return { length, entries: parseHeader(file.subarray(8, 8 + length), file.length, length, 'x') };
    });
    if (result) checkEntries(result.entries, 8 + result.length, file.length);
  };

  it('a safetensors header, its values or its text changed', () => {
    const data = new Uint8Array(dataBytes);
    fc.assert(
      fc.property(mutated(header), ({ value }) => {
        const text = printed(value);
        if (text !== undefined) read(safetensors(text, dataBytes));
      }),
      { numRuns: runs(2000) },
    );
    fc.assert(
      fc.property(spliced(bytesOf(header)), (text) => {
        const length = new Uint8Array(8);
        new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
        read(Buffer.concat([length, text, data]));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('a safetensors file, its bytes changed, and any bytes', () => {
    const file = safetensors(header, dataBytes);
    fc.assert(fc.property(spliced(file), read), { numRuns: runs(2000) });
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), read), { numRuns: runs(500) });
    const lengths = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 500n }));
    fc.assert(
      fc.property(lengths, (length) => read(safetensors(header, dataBytes, length))),
      { numRuns: runs(500) },
    );
  });

  it('a folder, one of its files changed: openCheckpoint', async () => {
    const files = await filesOf(fixture('tiny-qwen2'));
    const generation = bytesOf({ eos_token_id: [637, 639], do_sample: true, temperature: 0.2, top_p: 0.5 });
    const originals = new Map(Object.entries({ ...files, 'generation_config.json': generation }));
    const dir = await folder(Object.fromEntries(originals));
    const change = fc.constantFrom(...originals).chain(([name, bytes]) => {
      const asJson = name.endsWith('.json') ? [mutated(JSON.parse(new TextDecoder().decode(bytes)))] : [];
      const headerEnd = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
      const start = name.endsWith('.json') ? bytes : bytes.subarray(0, headerEnd);
      const content = fc.oneof(
        spliced(start).map((text) => Buffer.concat([text, bytes.subarray(start.length)])),
        ...asJson.map((values) => values.map(({ value }) => Buffer.from(printed(value) ?? 'null'))),
      );
      return content.map((text) => ({ name, text }));
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ name, text }) => {
        await writeFile(join(dir, name), text);
        try {
          checkCheckpoint(await openCheckpoint(dir));
        } catch (error) {
          refused(error, dir, true);
        } finally {
          await writeFile(join(dir, name), originals.get(name)!);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it('a chat template, parts of it left out or repeated', async () => {
    const { chat_template } = await json(fixture('tiny-llama'), 'tokenizer_config.json');
    const parts = String(chat_template).split(/(?=[{%}'[\]+ ])/);
    const change = fc.tuple(fc.nat(parts.length - 1), fc.nat(2));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        const times = new Map(changes);
        const source = parts.map((part, i) => part.repeat(times.get(i) ?? 1)).join('');
        orRefuse('chat_template.jinja', () => {
          const context = { file: 'chat_template.jinja', namedTokens: new Map() };
          const template = new ChatTemplate(source, context);
          const text = template.render([{ role: 'user', content: 'hi' }], { addGenerationPrompt: true });
          expect(typeof text).toBe('string');
        });
      }),
      { numRuns: runs(500) },
    );
  });
});

/** Every id that it gives is one that the model has; every weight lies in its file. */
function checkCheckpoint(checkpoint: Checkpoint): void {
  const { config, tokenizer, tensors, eosTokenIds } = checkpoint;
  checkConfig(config);
  for (const name of expectedTensors(config).keys()) expect(tensors.has(name)).toBe(true);
  const ids = [...eosTokenIds, ...tokenizer.encode('hello 12\n€ <|im_end|>')];
  expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < config.vocabSize)).toBe(true);
  try {
    encodePrompt(checkpoint, [{ role: 'user', content: 'hi' }]);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
  }
}
