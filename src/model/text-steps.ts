import { z } from 'zod';
import { ModelError, show } from './errors.js';
import { fieldName, isRecord, parseJson } from './json.js';

const patternSchema = z.object({
  pattern: z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })], {
    error: 'expected a String or a Regex',
  }),
});
const splitSchema = patternSchema.extend({ behavior: z.string() });

/**
 * Refuses a `normalizer` or `pre_tokenizer` that `@huggingface/tokenizers` would apply wrongly without an error: where
 * a pattern is of no known kind it drops the text or the step, and it treats every behavior of `Split` but `Removed`
 * as `Isolated`.
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
    for (const [i, step] of steps.entries()) checkTextSteps(step, file, [...at, list, i]);
  }
  if (json.type === 'Replace') parseJson(patternSchema, json, file, at);
  if (json.type !== 'Split') return;
  const { behavior } = parseJson(splitSchema, json, file, at);
  if (/^(isolated|removed)$/i.test(behavior)) return;
  const problem = `${show(behavior)} is not supported (supported: Isolated, Removed)`;
  throw new ModelError(file, fieldName([...at, 'behavior']), problem);
}
