import { z } from 'zod';
import { ModelError, show } from './errors.js';
import { fieldName, isRecord, parseJson } from './json.js';

const splitSchema = z.object({
  pattern: z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })], {
    error: 'expected a String or a Regex',
  }),
  behavior: z.string(),
});

/**
 * Refuses a `pre_tokenizer` that `@huggingface/tokenizers` would apply wrongly without saying so: it drops all text
 * at a `Split` without a pattern, and treats every behavior but `Removed` as `Isolated`.
 *
 * @throws ModelError naming the field
 */
export function checkPreTokenizer(
  json: unknown,
  file: string,
  at: readonly PropertyKey[] = ['pre_tokenizer'],
): void {
  if (!isRecord(json)) return;
  if (Array.isArray(json.pretokenizers)) {
    // Sequences inside sequences say nothing more; without them no file can nest too deep to read.
    if (at.length > 1) throw new ModelError(file, fieldName(at), 'a Sequence in a Sequence is not supported');
    for (const [i, step] of json.pretokenizers.entries()) {
      checkPreTokenizer(step, file, [...at, 'pretokenizers', i]);
    }
  } else if (json.type === 'Split') {
    const { behavior } = parseJson(splitSchema, json, file, at);
    if (!/^(isolated|removed)$/i.test(behavior)) {
      throw new ModelError(
        file,
        fieldName([...at, 'behavior']),
        `${show(behavior)} is not supported (supported: Isolated, Removed)`,
      );
    }
  }
}
