import { z } from 'zod';
import { ModelError, show } from '../files/file-errors.js';
import { fieldName, isRecord, parseJson } from '../files/json.js';

/** Patterns of models have 500 characters. A class such as `\\w`, or `\\p{L}` under `u`, takes some kilobytes. */
const pattern = z.string().max(4096);
const patternSchema = z.object({
  pattern: z.union([z.object({ String: pattern }), z.object({ Regex: pattern })], {
    error: 'expected a String or a Regex of at most 4096 characters',
  }),
});
const replaceSchema = patternSchema.extend({ content: z.string().optional() });
const splitSchema = patternSchema.extend({ behavior: z.string() });
const fixedLengthSchema = z.object({ length: z.int().min(1) });

const spaceSplit = z.object({
  type: z.literal('Split'),
  pattern: z.object({ String: z.literal(' ') }),
  invert: z.literal(false).optional(),
});
const spaceReplacement = z.object({
  type: z.literal('Replace'),
  pattern: z.object({ String: z.literal(' ') }),
  content: z.string().refine((text) => !text.includes(' ')),
});

/** Whether a pre-tokenizer splits at spaces where the normalizer leaves none, as Gemma's does: then it does nothing. */
export function splitsAtNothing(preTokenizer: unknown, normalizer: unknown): boolean {
  return spaceSplit.safeParse(preTokenizer).success && spaceReplacement.safeParse(normalizer).success;
}

/**
 * Refuses a `normalizer` or `pre_tokenizer` that `@huggingface/tokenizers` would apply wrongly without an error: where
 * a pattern is of no known kind it drops the text or the step, and it treats every behavior of `Split` but `Removed`
 * as `Isolated`. `FixedLength` with a length below 1 would never come to an end.
 *
 * @param at where in the file the step is: `['normalizer']`
 * @throws ModelError naming the field
 */
export function checkTextSteps(json: unknown, file: string, at: readonly PropertyKey[]): void {
  if (!isRecord(json)) return;
  for (const list of ['normalizers', 'pretokenizers']) {
    const steps = json[list];
    if (!Array.isArray(steps)) continue;
    // Sequences inside sequences say nothing more; without them no file can nest too deep to read.
    if (at.length > 1) throw new ModelError(file, fieldName(at), 'a Sequence in a Sequence is not supported');
    checkSteps(steps, file, fieldName([...at, list]));
    for (const [i, step] of steps.entries()) checkTextSteps(step, file, [...at, list, i]);
  }
  if (json.type === 'FixedLength') parseJson(fixedLengthSchema, json, file, at);
  for (const key of WRITTEN) {
    const text = json[key];
    if (typeof text !== 'string' || text.length <= MAX_WRITTEN) continue;
    const problem = `${text.length} characters are not supported (at most ${MAX_WRITTEN})`;
    throw new ModelError(file, fieldName([...at, key]), problem);
  }
  if (json.type === 'Replace') parseJson(replaceSchema, json, file, at);
  if (json.type !== 'Split') return;
  const { behavior } = parseJson(splitSchema, json, file, at);
  if (/^(isolated|removed)$/i.test(behavior)) return;
  const problem = `${show(behavior)} is not supported (supported: Isolated, Removed)`;
  throw new ModelError(file, fieldName([...at, 'behavior']), problem);
}

/** Models have five steps at most. */
const MAX_STEPS = 16;

/** Fields whose text a step writes: those of `Replace`, `Prepend`, `Metaspace`. */
const WRITTEN = ['content', 'prepend', 'replacement', 'str_rep'];
/** Models write one character. */
const MAX_WRITTEN = 16;
/** Characters that one may become by all replacements together. */
const MAX_GROWTH = 256;

/**
 * Replacements multiply. `ByteLevel` writes most bytes as two: applied again and again, as in a list that was repeated by mistake, it makes
 * gigabytes of a word.
 */
function checkSteps(steps: readonly unknown[], file: string, field: string): void {
  if (steps.length > MAX_STEPS) {
    throw new ModelError(file, field, `${steps.length} steps are not supported (at most ${MAX_STEPS})`);
  }
  if (steps.filter((step) => isRecord(step) && step.type === 'ByteLevel').length > 1) {
    throw new ModelError(file, field, 'more than one ByteLevel is not supported');
  }
  let growth = 1;
  for (const step of steps) growth *= growthOf(step);
  if (growth > MAX_GROWTH) {
    throw new ModelError(file, field, `make ${growth} characters of one (at most ${MAX_GROWTH})`);
  }
}

/**
 * Growth of a text by one step. Text that an empty match puts between characters, or that is put before a
 * text, adds to it.
 */
function growthOf(step: unknown): number {
  if (!isRecord(step)) return 1;
  const written = Math.max(...WRITTEN.map((key) => (typeof step[key] === 'string' ? step[key].length : 0)));
  const replaced = step.type === 'Metaspace' ? ' ' : isRecord(step.pattern) ? step.pattern.String : undefined;
  return typeof replaced === 'string' && replaced !== '' ? Math.max(1, written) : 1 + written;
}
