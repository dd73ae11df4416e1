/** How a text is split before its bytes are merged. */
export interface PreTokenizer {
  /** `null`: that of GPT-2, by `ByteLevel` itself. */
  readonly pattern: string | null;
  /** Each digit is a part of its own, before anything else. */
  readonly digits: boolean;
  /** A part that is a token is that token, whatever the merges say. */
  readonly ignoreMerges: boolean;
  /** Whether a text begins with the token for that, where the file does not say. */
  readonly begins: boolean;
}

const gpt2 = { pattern: null, digits: false, ignoreMerges: false, begins: false } as const;
const words = (digits: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const llama3 = { ...gpt2, pattern: words('\\p{N}{1,3}') };
const tekken =
  '[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

/**
 * Pre-tokenizers by `tokenizer.ggml.pre`. Source: llama.cpp, src/llama-vocab.cpp, with the patterns of the
 * tokenizer.json that it quotes.
 */
export const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizer> = new Map(
  Object.entries({
    'gpt-2': gpt2,
    olmo: gpt2,
    smollm: { ...gpt2, digits: true },
    starcoder: { ...gpt2, digits: true },
    'llama-bpe': { ...llama3, ignoreMerges: true, begins: true },
    'llama-v3': { ...llama3, ignoreMerges: true, begins: true },
    llama3: { ...llama3, ignoreMerges: true, begins: true },
    'smaug-bpe': llama3,
    dbrx: llama3,
    qwen2: { ...gpt2, pattern: words('\\p{N}') },
    'deepseek-r1-qwen': { ...gpt2, pattern: words('\\p{N}') },
    tekken: { ...gpt2, pattern: tekken, ignoreMerges: true, begins: true },
  }),
);

/** The `pre_tokenizer` of tokenizer.json. */
export function preTokenizer({ pattern, digits }: PreTokenizer): unknown {
  const byteLevel = {
    type: 'ByteLevel',
    add_prefix_space: false,
    trim_offsets: false,
    use_regex: pattern === null,
  };
  const first = digits
    ? [{ type: 'Digits', individual_digits: true }]
    : pattern === null
      ? []
      : [{ type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false }];
  return { type: 'Sequence', pretokenizers: [...first, byteLevel] };
}
