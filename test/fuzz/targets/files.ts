import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ConfigError } from '#gateway/config/config-error.js';
import { loadConfig } from '#gateway/config/load-config.js';
import { parseGenerationConfig } from '#src/checkpoint/generation-config.js';
import { parseQuantization } from '#src/checkpoint/quantized/quantization-settings.js';
import { type HeaderEntry, parseHeader, parseHeaderLength } from '#src/checkpoint/safetensors-header.js';
import { ModelError } from '#src/files/file-errors.js';
import { decodeJson } from '#src/files/json.js';
import { parseWeightMap } from '#src/files/weight-map.js';
import { parseCalibration } from '#src/risk/calibration.js';
import { Tokenizer } from '#src/tokenizer/tokenizer.js';
import { parseTokenizerConfig } from '#src/tokenizer/tokenizer-config.js';
import { sentencePiece } from '../../support/graphs.js';
import { orRefuse } from '../../support/mutations.js';
import type { Target } from '../target.js';

const folder = mkdtempSync(join(tmpdir(), 'flinch-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** A file of YAML: what is refused names its file, and its line or what is wrong with all of it. */
const config: Target = {
  name: 'config',
  mostMs: 20_000, // lists in lists, 20,000 of them, take yaml seconds; the file is the operator's own
  run: async (input) => {
    const file = join(folder, 'flinch.yaml');
    writeFileSync(file, input);
    try {
      await loadConfig({ file });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.location.startsWith(file)).toBe(true);
      expect(error.message.length).toBeLessThan(2000);
    }
  },
};

/** Reads JSON as a model's files are read. */
const jsonFile = (name: string, read: (json: unknown, file: string) => void): Target => ({
  name,
  run: (input) => {
    const file = `${name}.json`;
    const value = orRefuse(file, () => ({ json: decodeJson(input, file) }), true);
    if (value) orRefuse(file, () => read(value.json, file), true);
  },
});

const calibration = jsonFile('calibration', (json, file) => {
  const { calibrations } = parseCalibration(json, file);
  for (const { methods } of calibrations)
    for (const { tokens } of Object.values(methods)) expect(tokens.count).toBeGreaterThan(0);
});

const tokenizer = jsonFile('tokenizer', (json, file) => {
  const made = new Tokenizer(json, {}, file);
  const ids = made.encode('hello <s>a</s>\n € 12 __proto__');
  expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < made.size)).toBe(true);
  expect(typeof made.decode([...ids, 0, 1, -1, 2 ** 40])).toBe('string');
});

const quantization = jsonFile('quantization', (json, file) => {
  const refuse = (field: string, problem: string): never => {
    throw new ModelError(file, field, problem);
  };
  const { bits, block } = parseQuantization(json, file, refuse) ?? { bits: 4, block: [null, null] };
  expect([4, 8]).toContain(bits);
  expect(block.every((size) => size === null || size >= 1)).toBe(true);
});

const generationConfig = jsonFile('generation-config', (json, file) => {
  const { eosTokenIds, temperature, topK, topP } = parseGenerationConfig(json, file);
  expect((eosTokenIds ?? []).every((id) => Number.isInteger(id) && id >= 0)).toBe(true);
  expect(temperature ?? 0).toBeGreaterThanOrEqual(0);
  expect(Number.isFinite(temperature ?? 0) && Number.isInteger(topK ?? 0)).toBe(true);
  expect((topP ?? 1) >= 0 && (topP ?? 1) <= 1).toBe(true);
});

const weightMap = jsonFile('weight-map', (json, file) => {
  for (const shard of parseWeightMap(json, file).values()) expect(shard).toMatch(/^[^/\\]+\.safetensors$/);
});

const tokenizerConfig = jsonFile('tokenizer-config', (json, file) => {
  const { addedTokens, namedTokens, chatTemplate } = parseTokenizerConfig(json, file);
  expect(addedTokens.every(({ id }) => Number.isInteger(id) && id >= 0 && id < 2 ** 24)).toBe(true);
  const texts = [...namedTokens.values(), chatTemplate.plain ?? '', chatTemplate.toolUse ?? ''];
  expect(texts.every((text) => typeof text === 'string')).toBe(true);
  const made = orRefuse('', () => new Tokenizer(sentencePiece(), json, 'tokenizer.json'));
  if (made) expect(typeof made.decode(made.encode('hello <s>a</s><b>'))).toBe('string');
});

/** What is accepted lies in the file, without overlap, and is as long as its shape says. */
function checkEntries(entries: readonly HeaderEntry[], dataStart: number, fileSize: number): void {
  let end = dataStart;
  const inOrder = entries.toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  for (const { offset, byteLength, shape, type } of inOrder) {
    expect(offset).toBe(end);
    end += byteLength;
    const bytes = type === 'fp32' ? 4 : 2;
    if (type !== null) expect(shape.reduce((product, n) => product * n, bytes) === byteLength).toBe(true); // -0 is 0
  }
  expect(end).toBe(fileSize);
}

/** The header is text in the corpus: its length is put before it, and some data behind it. */
const safetensors: Target = {
  name: 'safetensors',
  run: (header) => {
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(header.length), true);
    const size = 8 + header.length + 40;
    orRefuse(
      'x',
      () => {
        parseHeaderLength(length, size, 'x');
        checkEntries(parseHeader(header, size, header.length, 'x'), 8 + header.length, size);
      },
      true,
    );
  },
};

export const FILES: readonly Target[] = [
  ...[
    config,
    calibration,
    tokenizer,
    safetensors,
    quantization,
    generationConfig,
    weightMap,
    tokenizerConfig,
  ],
];
