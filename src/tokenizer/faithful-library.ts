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
 * - it takes quadratic time to normalise many combining marks in a row.
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
