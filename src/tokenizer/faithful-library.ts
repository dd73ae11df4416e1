import { Tokenizer as Library } from '@huggingface/tokenizers';
import { isRecord } from '../files/json.js';
import { inCanonicalOrder } from './compose.js';
import type { AddedToken } from './tokenizer-config.js';

/** Pattern that splits a text in GPT-2, and in `ByteLevel` by default. */
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Parts of a tokenizer.json that take part in encoding. */
export interface EncodingParts {
  readonly normalizer: unknown;
  readonly pre_tokenizer: unknown;
  readonly model: { readonly unk_token?: unknown; readonly byte_fallback?: unknown };
}

/**
 * `@huggingface/tokenizers` where it differs from the Rust implementation, which made the training data:
 * - its `Digits` knows only 0 to 9, and not ² or ٣;
 * - its `ByteLevel` takes white space for what JavaScript does, with U+FEFF and without U+0085;
 * - it drops a byte that has no token after merging those beside it, not before;
 * - it takes quadratic time to normalise many combining marks in a row;
 * - it finds added tokens with `single_word` within words, too.
 */
export function faithfulLibrary(
  { normalizer, pre_tokenizer, model }: EncodingParts,
  added: readonly AddedToken[],
): Library {
  // Its post-processor adds special tokens and its decoder is not incremental: neither is used.
  const parts = {
    post_processor: null,
    decoder: null,
    normalizer,
    pre_tokenizer: faithfulSteps(pre_tokenizer),
  };
  const library = new Library({ added_tokens: added, model, ...parts }, {});
  orderMarksFirst(library.normalizer);
  joinWords(library, added);
  if (!model.unk_token && model.byte_fallback !== true) dropUnknownFirst(library);
  return library;
}

/** Replaces pre-tokenizers by `Split`, which the library implements correctly for digits and white space. */
function faithfulSteps(json: unknown): unknown {
  if (!isRecord(json)) return json;
  if (!Array.isArray(json.pretokenizers)) {
    const steps = faithfulStep(json);
    return steps.length === 1 ? steps[0] : { type: 'Sequence', pretokenizers: steps };
  }
  return { ...json, pretokenizers: json.pretokenizers.flatMap(faithfulStep) };
}

function faithfulStep(step: unknown): unknown[] {
  if (!isRecord(step)) return [step];
  if (step.type === 'Digits') return [split(step.individual_digits === true ? '\\p{N}' : '\\p{N}+')];
  // Its space belongs before the text, not before each part.
  if (step.type !== 'ByteLevel' || step.use_regex === false || step.add_prefix_space === true) return [step];
  return [split(GPT2), { ...step, use_regex: false }];
}

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

const WORD = '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]';
const STARTS_WITH_WORD = new RegExp(`^${WORD}`, 'u');
const ENDS_WITH_WORD = new RegExp(`${WORD}$`, 'u');

/** What finds added tokens in a text: texts and tokens, in their order. */
interface Splitter {
  split(text: string): string[];
}
const isSplitter = (value: unknown): value is Splitter =>
  isRecord(value) && typeof value.split === 'function';

/**
 * Makes text of tokens within words (tokenizers, added_vocabulary.rs, `find_matches`). Known
 * difference: one that stands directly between two other added tokens stays a token.
 */
function joinWords(library: Library, added: readonly AddedToken[]): void {
  const tokens = new Map(added.map((token) => [token.content, token]));
  if (!added.some((token) => token.single_word)) return;
  for (const name of ['splitter_unnormalized', 'splitter_normalized']) {
    const splitter: unknown = Reflect.get(library, name);
    if (!isSplitter(splitter)) throw new Error(`the tokenizer library has no ${name}`);
    const split = splitter.split.bind(splitter);
    splitter.split = (text) => {
      const parts = split(text);
      const joined: string[] = [];
      let isOpen = false;
      for (const [i, part] of parts.entries()) {
        const touches = ENDS_WITH_WORD.test(parts[i - 1] ?? '') || STARTS_WITH_WORD.test(parts[i + 1] ?? '');
        const token = tokens.get(part);
        const isText = !token || (token.single_word && touches);
        if (isText && isOpen) joined.push((joined.pop() ?? '') + part);
        else joined.push(part);
        isOpen = isText;
      }
      return joined;
    };
  }
}

function dropUnknownFirst({ model }: Library): void {
  if (!model) return;
  const encode = model.encode.bind(model);
  const has = (token: string): boolean => model.tokens_to_ids.has(token);
  const known = (spelling: string): string =>
    has(spelling) ? spelling : Array.from(spelling).filter(has).join('');
  model.encode = (spellings: string[]) => encode(spellings.map(known));
}

/**
 * Normalisers that get marks in canonical order. Other steps do not depend on the order, or, like `Replace`, may
 * need the text as it is.
 */
const UNICODE = new Set(['NFC', 'NFD', 'NFKC', 'NFKD', 'BertNormalizer', 'Precompiled']);

function orderMarksFirst(step: Library['normalizer']): void {
  if (!step) return;
  if ('normalizers' in step && Array.isArray(step.normalizers)) step.normalizers.forEach(orderMarksFirst);
  if (!UNICODE.has(step.config.type)) return;
  const normalize = step.normalize.bind(step);
  step.normalize = (text: string) => normalize(inCanonicalOrder(text));
}
