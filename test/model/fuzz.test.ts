import fc from 'fast-check';
import { describe, it } from 'vitest';
import { ChatTemplate } from '#src/model/chat-template.js';
import { parseConfig } from '#src/model/config.js';
import { Detokenizer } from '#src/model/detokenizer.js';
import { ModelError, TemplateError } from '#src/model/errors.js';
import { parseGenerationConfig } from '#src/model/generation-config.js';
import { parseWeightMap } from '#src/model/safetensors.js';
import { parseHeader, parseHeaderLength } from '#src/model/safetensors-header.js';
import { Tokenizer } from '#src/model/tokenizer.js';
import { expectedTensors } from '#src/model/weights.js';
import { fixture, json, safetensors, sentencePiece } from './support.js';

/** Values that files have held by mistake or by malice; `undefined` removes the field. */
const HOSTILE = [
  undefined,
  null,
  true,
  0,
  -1,
  0.5,
  2 ** 24,
  2 ** 31,
  2 ** 53,
  1e308,
  Number.NaN,
  '',
  'x',
  '(',
  '__proto__',
  '../x',
  [],
  [0],
  [[]],
  {},
  { type: 'Sequence' },
  JSON.parse('{"__proto__": 1}'),
];

/** One or more changes somewhere in a JSON value. Each is a path, as one number per level, and what to put there. */
const mutations = fc.array(fc.tuple(fc.array(fc.nat(), { maxLength: 6 }), fc.constantFrom(...HOSTILE)), {
  minLength: 1,
  maxLength: 4,
});

function mutate(value: unknown, path: readonly number[], replacement: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return replacement;
  const entries = Object.entries(value);
  const chosen = step % Math.max(1, entries.length);
  const changed = entries.map(
    ([key, child], i) => [key, i === chosen ? mutate(child, rest, replacement) : child] as const,
  );
  if (Array.isArray(value)) return changed.map(([, child]) => child);
  return Object.fromEntries(changed.filter(([, child]) => child !== undefined));
}

/** Passes if `work` succeeds or refuses its input as it should; any other error fails. */
function orRefuse(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ModelError || error instanceof TemplateError)) throw error;
  }
}

function fuzz(original: unknown, work: (mutated: unknown) => void): void {
  fc.assert(
    fc.property(mutations, (changes) => {
      orRefuse(() =>
        work(changes.reduce((value, [path, replacement]) => mutate(value, path, replacement), original)),
      );
    }),
    { numRuns: 2000 },
  );
}

describe('whatever a file holds, it is read or refused by ModelError', () => {
  it.each(['tiny-llama', 'tiny-qwen2', 'tiny-mistral'])('config.json of %s', async (name) => {
    fuzz(
      await json(fixture(name), 'config.json'),
      (value) => void expectedTensors(parseConfig(value, 'config.json')),
    );
  });

  it('generation_config.json', () => {
    const original = { eos_token_id: [1, 2], do_sample: true, temperature: 0.2, top_k: 5, top_p: 0.5 };
    fuzz(original, (value) => void parseGenerationConfig(value, 'generation_config.json'));
  });

  it('model.safetensors.index.json', async () => {
    const original = await json(fixture('tiny-llama'), 'model.safetensors.index.json');
    fuzz(original, (value) => void parseWeightMap(value, 'model.safetensors.index.json'));
  });

  const header = {
    __metadata__: { format: 'pt' },
    a: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
    b: { dtype: 'BF16', shape: [4], data_offsets: [24, 32] },
  };
  const read = (file: Uint8Array) => {
    const length = parseHeaderLength(file.subarray(0, 8), file.length, 'x');
    parseHeader(file.subarray(8, 8 + length), file.length, length, 'x');
  };

  it('a safetensors header, its fields changed', () => {
    fuzz(header, (value) => read(safetensors(value ?? null, 32)));
  });

  it('a safetensors file, its bytes changed', () => {
    const file = safetensors(header, 32);
    const change = fc.tuple(fc.nat(file.length - 33), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1 }), fc.nat(file.length), (changes, cut) => {
        const bytes = file.slice(0, cut % 4 === 0 ? cut : file.length);
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
        orRefuse(() => read(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  const exercise = (tokenizer: Tokenizer) => {
    const ids = tokenizer.encode('hello <s>a</s>\n €');
    const detokenizer = new Detokenizer(tokenizer);
    for (const id of [...ids, 0, 1, 292, -1, 2 ** 40, Number.NaN]) {
      detokenizer.push(id);
      tokenizer.tokenText(id);
    }
    detokenizer.flush();
    tokenizer.decode(ids);
  };

  it('tokenizer.json in the style of SentencePiece', () => {
    fuzz(sentencePiece(), (value) => exercise(new Tokenizer(value, {}, 'tokenizer.json')));
  });

  it('tokenizer.json of bytes', async () => {
    const original = await json(fixture('tiny-qwen2'), 'tokenizer.json');
    fuzz(original, (value) => exercise(new Tokenizer(value, {}, 'tokenizer.json')));
  });

  it('tokenizer_config.json', () => {
    const original = {
      bos_token: '<s>',
      eos_token: { content: '</s>' },
      additional_special_tokens: ['<tool>'],
      added_tokens_decoder: { 296: { content: '<a>', special: true, lstrip: true } },
      chat_template: [{ name: 'default', template: '' }],
    };
    fuzz(original, (value) => exercise(new Tokenizer(sentencePiece(), value, 'tokenizer.json')));
  });

  it('a chat template, parts of it left out or repeated', async () => {
    const { chat_template } = await json(fixture('tiny-llama'), 'tokenizer_config.json');
    const parts = String(chat_template).split(/(?=[{%}'[\]+ ])/);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(parts.length - 1), fc.nat(2)), { minLength: 1, maxLength: 6 }),
        (changes) => {
          const times = new Map(changes);
          const source = parts.map((part, i) => part.repeat(times.get(i) ?? 1)).join('');
          orRefuse(() => {
            const template = new ChatTemplate(source, {
              file: 'chat_template.jinja',
              namedTokens: new Map(),
            });
            template.render([{ role: 'user', content: 'hi' }], { addGenerationPrompt: true });
          });
        },
      ),
      { numRuns: 500 },
    );
  });
});
