import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '#src/checkpoint/config.js';
import { MAX_HEADER } from '#src/checkpoint/gguf/cursor.js';
import { TemplateError, TextLimitError } from '#src/files/file-errors.js';
import { decodeJson } from '#src/files/json.js';
import { ChatTemplate } from '#src/tokenizer/chat-template.js';
import { checkConfig } from '../../support/check-config.js';
import { checkGgufFile } from '../../support/gguf.js';
import { orRefuse, refused } from '../../support/mutations.js';
import { QUANTIZED, unpackMatrix } from '../../support/quantized.js';
import type { Target } from '../target.js';

const folder = mkdtempSync(join(tmpdir(), 'flinch-fuzz-models-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** A file that goes on with zeros, as sparse files do: longer than a header may be. */
const zeros = new Uint8Array(MAX_HEADER + 2 ** 20);

const gguf: Target = {
  name: 'gguf',
  run: (input) => {
    checkGgufFile(input, 'x.gguf');
    // It takes long: those of the corpus that are about sizes, and by chance some others.
    if (input.length > 128 && input.length % 8 > 0) return;
    zeros.set(input);
    checkGgufFile(zeros, 'x.gguf');
    zeros.fill(0, 0, input.length);
  },
};

/** Which fixture's quantization_config goes with a file, by a tensor that it has. */
const SETTINGS = [
  ['weight_packed', 'pack-int4-zeros'],
  ['weight_scale_inv', 'fp8-block'],
  ['g_idx', 'gptq-int4-reordered'],
  ['', 'awq-int4'],
] as const;

/** A safetensors file of one quantised matrix, without its length: text to the first zero, then data. */
const quantized: Target = {
  name: 'quantized',
  run: async (input) => {
    const end = input.indexOf(0);
    const header = input.subarray(0, end < 0 ? input.length : end);
    const length = new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer);
    writeFileSync(
      join(folder, 'model.safetensors'),
      Buffer.concat([length, header, input.subarray(header.length + 1)]),
    );
    const text = Buffer.from(header).toString();
    const [, name] = SETTINGS.find(([tensor]) => text.includes(tensor))!;
    try {
      await unpackMatrix(folder, QUANTIZED[name]!.config);
    } catch (error) {
      refused(error, '', true);
    }
  },
};

const modelConfig: Target = {
  name: 'model-config',
  run: (input) => {
    const file = 'config.json';
    const value = orRefuse(file, () => ({ json: decodeJson(input, file) }), true);
    if (!value) return;
    const config = orRefuse(file, () => parseConfig(value.json, file), true);
    if (config) checkConfig(config);
  },
};

/** Of a template's rendering, as gateways have it. */
const RENDER_MS = 500;
const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What is 12 + 30?' },
];

const template: Target = {
  name: 'template',
  run: (input) => {
    const file = 'chat_template.jinja';
    const source = Buffer.from(input).toString();
    orRefuse(file, () => {
      try {
        const made = new ChatTemplate(source, { file, namedTokens: new Map() });
        made.render(MESSAGES, { addGenerationPrompt: true, limitMs: RENDER_MS });
      } catch (error) {
        if (!(error instanceof TemplateError) && !(error instanceof TextLimitError)) throw error;
      }
    });
  },
};

export const MODELS: readonly Target[] = [gguf, quantized, modelConfig, template];
