import { describe, expect, it } from 'vitest';
import { textPrefix } from '#src/tokenizer/text-prefix.js';

const BYTES = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
/** As that of Llama 3. */
const BEGINS = {
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [],
  special_tokens: { '<s>': { id: '<s>', ids: [7], tokens: ['<s>'] } },
};
const ENDS = { ...BEGINS, single: [...BEGINS.single, { SpecialToken: { id: '<s>', type_id: 0 } }] };

describe('the ids before a text that no template surrounds', () => {
  it.each([
    ['no processor', null, {}, []],
    ['one that works on bytes', BYTES, { add_bos_token: false }, []],
    ['one that begins every text', BEGINS, {}, [7]],
    ['both, one after the other', { type: 'Sequence', processors: [BYTES, BEGINS] }, {}, [7]],
    ['one that the configuration confirms', BEGINS, { add_bos_token: true }, [7]],
  ])('%s', (_, processor, config, ids) => {
    expect(textPrefix(processor, config)).toEqual(ids);
  });

  it.each([
    ['one that also ends the text', ENDS, {}],
    ['one that we do not read', { type: 'BertProcessing', sep: ['[SEP]', 1], cls: ['[CLS]', 0] }, {}],
    ['a token that the file does not list', { ...BEGINS, special_tokens: {} }, {}],
    ['a configuration that begins texts where the processor does not', BYTES, { add_bos_token: true }],
    ['a configuration that does not where the processor does', BEGINS, { add_bos_token: false }],
    ['a configuration that ends texts', BEGINS, { add_eos_token: true }],
    ['anything else', 'BEGINS', {}],
  ])('nobody knows for %s', (_, processor, config) => {
    expect(textPrefix(processor, config)).toBeNull();
  });
});
