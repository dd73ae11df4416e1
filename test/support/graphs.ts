import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ModelError } from '#src/files/file-errors.js';
import type { ChatMessage } from '#src/tokenizer/chat-template.js';

export const FIXTURES = ['tiny-llama', 'tiny-qwen2', 'tiny-mistral'] as const;
export const REASONER = 'models/reasoner';

export const fixture = (name: string): string => join('test/fixtures', name);

export type Json = Record<string, unknown>;

export async function json(dir: string, file: string): Promise<Json> {
  return JSON.parse(await readFile(join(dir, file), 'utf8'));
}

/** Results of the Python implementation for a conversation. */
export interface Golden {
  readonly messages: readonly ChatMessage[];
  readonly prompt: string;
  readonly promptIds: readonly number[];
  readonly response: string;
  readonly responseIds: readonly number[];
}

export async function golden(name: string): Promise<readonly Golden[]> {
  return JSON.parse(await readFile(join(fixture(name), 'golden.json'), 'utf8')).cases;
}

/** A folder with these files, which is removed after the test. Objects are written as JSON. */
export async function folder(files: Readonly<Record<string, string | Uint8Array | object>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'flinch-model-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    const raw = typeof content === 'string' || content instanceof Uint8Array;
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), raw ? content : JSON.stringify(content));
  }
  return dir;
}

/** The files of a fixture, to be changed and written with `folder`. */
export async function filesOf(dir: string): Promise<Record<string, Uint8Array>> {
  const names = (await readdir(dir)).filter((name) => name !== 'golden.json');
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name))] as const)),
  );
}

/** The ModelError that `work` ends in; anything else fails the test. */
export async function modelError(work: () => unknown): Promise<ModelError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error('expected a ModelError, but nothing was thrown');
}

/** A safetensors file of zeros. `header` is taken as it is, however wrong. */
export function safetensors(header: unknown, dataBytes: number, statedLength?: bigint): Uint8Array {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, statedLength ?? BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

/** A small tokenizer in the style of Llama 2: SentencePiece with byte fallback. */
export function sentencePiece() {
  const special = ['<unk>', '<s>', '</s>'];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const letters = ['▁', ...'abcdefghijklmnopqrstuvwxyz', '.', 'é'];
  const merges = [
    ['h', 'e'],
    ['l', 'l'],
    ['he', 'll'],
    ['hell', 'o'],
    ['▁', 'hello'],
    ['▁', 'a'],
    ['▁', '▁'],
  ];
  const pieces = [...special, ...bytes, ...letters, ...merges.map((pair) => pair.join(''))];
  const added = [...special, '<tool>'].map((content, i) => ({
    id: i < special.length ? i : pieces.length,
    content,
    special: content !== '<tool>',
    normalized: false,
    lstrip: false,
    rstrip: false,
    single_word: false,
  }));
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
    },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: '<unk>',
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges,
    },
  };
}
