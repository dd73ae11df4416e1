import { z } from 'zod';
import { ModelError, show } from '../files/file-errors.js';

/** How the tokens of a vocabulary spell text. */
export interface ByteDecoder {
  /** The bytes of UTF-8 that one token adds to a text; they may begin or end inside a character. */
  bytes(token: string): Uint8Array;
  /** The same for a token that was added to the vocabulary, which is spelt plainly. */
  addedBytes(content: string): Uint8Array;
  /** Spaces that are dropped from the start of a text: SentencePiece puts one before it when encoding. */
  readonly leadingSpaces: number;
}

const utf8 = new TextEncoder();

const stepSchema = z.object({
  type: z.string(),
  pattern: z.object({ String: z.string().optional() }).optional(),
  content: z.string().optional(),
  start: z.int().min(0).optional(),
  stop: z.int().min(0).optional(),
});
const decoderSchema = z.union([
  z.object({ type: z.literal('Sequence'), decoders: z.array(stepSchema) }),
  stepSchema.transform((step) => ({ decoders: [step] })),
]);

/**
 * Reads the `decoder` of a tokenizer.json. Two kinds are known, which all supported families use:
 * - `ByteLevel` (Llama 3, Qwen2): each character of a token stands for one byte.
 * - `Replace` ▁ → space, `ByteFallback`, `Fuse`, optionally `Strip` (Llama 2, Mistral, Gemma): text, or one byte as `<0xE2>`.
 *
 * @throws ModelError for any other decoder, whose pieces might not be those of a stream
 */
export function parseDecoder(json: unknown, file: string): ByteDecoder {
  const steps = decoderSchema.safeParse(json).data?.decoders ?? [];
  if (steps.length === 1 && steps[0]?.type === 'ByteLevel') {
    return { bytes: byteLevelBytes, addedBytes: (content) => utf8.encode(content), leadingSpaces: 0 };
  }
  const [replace, fallback, fuse, strip] = steps;
  const known =
    replace?.type === 'Replace' &&
    replace.pattern?.String === '▁' &&
    replace.content === ' ' &&
    fallback?.type === 'ByteFallback' &&
    fuse?.type === 'Fuse' &&
    steps.length <= 4 &&
    (!strip || (strip.type === 'Strip' && strip.content === ' ' && (strip.stop ?? 0) === 0));
  if (known) {
    return { bytes: pieceBytes, addedBytes: pieceBytes, leadingSpaces: strip?.start ?? 0 };
  }
  const problem = `${show(json)} is not supported (supported: ByteLevel; Sequence of Replace ▁, ByteFallback, Fuse, Strip)`;
  throw new ModelError(file, 'decoder', problem);
}

/**
 * GPT-2's alphabet: printable bytes stand for themselves, the others for the characters from U+0100 on.
 * https://github.com/openai/gpt-2/blob/master/src/encoder.py, `bytes_to_unicode`
 */
const byteOf = new Map<string, number>();
for (let byte = 0, next = 0x100; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  byteOf.set(String.fromCodePoint(printable ? byte : next++), byte);
}

/** A token with a character outside the alphabet is plain text, as in the Rust implementation. */
function byteLevelBytes(token: string): Uint8Array {
  const bytes = Array.from(token, (character) => byteOf.get(character) ?? -1);
  return bytes.includes(-1) ? utf8.encode(token) : Uint8Array.from(bytes);
}

function pieceBytes(token: string): Uint8Array {
  const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1];
  return byte === undefined
    ? utf8.encode(token.replaceAll('▁', ' '))
    : Uint8Array.of(Number.parseInt(byte, 16));
}
