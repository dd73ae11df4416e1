import { z } from 'zod';
import type { AddedToken } from './tokenizer-config.js';

/**
 * How a text that is still being written can be cut into units that are encoded one by one: what comes after a unit
 * changes nothing in it, and all units together give the ids of the whole text.
 */
export interface StableUnits {
  /** Characters are composed (Unicode NFC) before anything else. */
  readonly composes: boolean;
  /** Spaces are spelt ▁ (SentencePiece). */
  readonly metaspace: boolean;
  /** Position of the space that is put before the text: nowhere, at its start, or also after each added token. */
  readonly prefix: 'none' | 'first' | 'sections';
  /**
   * `cut`: between any two characters that stand beside each other in no merge. `split`: by the pre-tokenizer, whose
   * pieces are final once a character that is not white follows them.
   */
  readonly by: 'cut' | 'split';
}

/**
 * Alternatives of the patterns by which GPT-2, Llama 3, Qwen2 and their like split a text. What each of them matches,
 * or that it does not, is settled by the run of white space that it begins with or that follows it, and by one more
 * character; contractions look at three. Two alternatives of Mistral's Tekken are missing: they look at a whole word.
 */
const ALTERNATIVES = new Set([
  ...["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"],
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
  '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+',
  ' ?\\p{L}+',
  '\\p{N}',
  '\\p{N}{1,3}',
  ' ?\\p{N}+',
  ' ?[^\\s\\p{L}\\p{N}]+',
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*',
  '\\s*[\\r\\n]+',
  '\\s+(?!\\S)',
  '\\s+',
]);
/** Characters that a contraction is recognised by, as `'re`. */
export const LONGEST_LOOK = 3;

const byteLevel = z.object({ type: z.literal('ByteLevel'), add_prefix_space: z.literal(false) });
const step = z.union([
  byteLevel.extend({ use_regex: z.boolean().default(true) }),
  z.object({ type: z.literal('Digits') }),
  z.object({
    type: z.literal('Split'),
    pattern: z.object({ Regex: z.string() }),
    behavior: z.literal('Isolated'),
    invert: z.literal(false).optional(),
  }),
]);
const metaspace = z.object({
  type: z.literal('Metaspace'),
  replacement: z.literal('▁').optional(),
  prepend_scheme: z.enum(['always', 'first', 'never']).default('always'),
});
const preTokenizerSchema = z.union([
  z.null(),
  metaspace,
  step.transform((only) => [only]),
  z
    .object({ type: z.literal('Sequence'), pretokenizers: z.array(step) })
    .transform(({ pretokenizers }) => pretokenizers),
]);

const rewriting = z.union([
  z.object({ type: z.literal('NFC') }),
  z.object({ type: z.literal('Prepend'), prepend: z.literal('▁') }),
  z.object({
    type: z.literal('Replace'),
    pattern: z.object({ String: z.literal(' ') }),
    content: z.literal('▁'),
  }),
]);
const normalizerSchema = z.union([
  z.null().transform(() => []),
  rewriting.transform((only) => [only]),
  z
    .object({ type: z.literal('Sequence'), normalizers: z.array(rewriting) })
    .transform(({ normalizers }) => normalizers),
]);

/**
 * @param added those that are looked for in the text
 * @returns `null` for a tokenizer of which it is not known where later text has no effect
 */
export function stableUnits(
  tokenizer: { readonly normalizer: unknown; readonly pre_tokenizer: unknown },
  model: { readonly ignore_merges?: unknown; readonly byte_fallback?: unknown },
  added: readonly AddedToken[],
): StableUnits | null {
  const normalizer = normalizerSchema.safeParse(tokenizer.normalizer).data;
  const splitter = preTokenizerSchema.safeParse(tokenizer.pre_tokenizer).data;
  if (!normalizer || splitter === undefined) return null;
  if (added.some(dependsOnText)) return null;
  const has = (type: string): boolean => normalizer.some((part) => part.type === type);
  const composes = has('NFC');
  if (Array.isArray(splitter)) {
    return isKnown(splitter) && !has('Prepend') && !has('Replace')
      ? { composes, metaspace: false, prefix: 'none', by: 'split' }
      : null;
  }
  // A whole text that is a token would be one, whatever the merges say; unknown characters side by side would be one.
  if (model.ignore_merges === true || model.byte_fallback !== true) return null;
  const prepends = has('Prepend') || splitter?.prepend_scheme === 'always';
  const first = splitter?.prepend_scheme === 'first';
  return {
    composes,
    metaspace: has('Replace') || splitter !== null,
    prefix: prepends ? 'sections' : first ? 'first' : 'none',
    by: 'cut',
  };
}

/** One split, perhaps with digits apart before it, and then the spelling in bytes. */
function isKnown(steps: readonly z.output<typeof step>[]): boolean {
  const rest = steps[0]?.type === 'Digits' ? steps.slice(1) : steps;
  const [first, last = first] = rest;
  if (rest.length > 2 || last?.type !== 'ByteLevel') return false;
  if (first === last) return last.use_regex;
  return (
    first?.type === 'Split' &&
    !last.use_regex &&
    alternatives(first.pattern.Regex).every((one) => ALTERNATIVES.has(one))
  );
}

/** Top-level alternatives of a regular expression, outside of groups. */
function alternatives(pattern: string): string[] {
  const found = [''];
  let depth = 0;
  for (const part of pattern.match(/\\.|./gsu) ?? []) {
    if (part === '(' || part === '[') depth += 1;
    if (part === ')' || part === ']') depth -= 1;
    if (part === '|' && depth === 0) found.push('');
    else found.push(found.pop() + part);
  }
  return found;
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** Whether a token strips white space around it, or is found in the composed text alone. */
const dependsOnText = ({ lstrip, rstrip, normalized, content }: AddedToken): boolean =>
  lstrip || rstrip || (normalized && !isAscii(content));
