import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { encodeGguf, ggufFile, ggufParts, readGgufFile } from '../../support/gguf.js';
import { modelError } from '../../support/graphs.js';

const { metadata, tensors } = ggufParts(ggufFile('tiny-llama'));
const texts = z.array(z.string());
const [NORMAL, CONTROL, USER_DEFINED, UNUSED] = [1, 3, 4, 5];
const END = 639;

/** The file with tokens of these types: a new one takes the place of what the last merge makes. */
function read(types: Readonly<Record<string, number>>, more: Readonly<Record<string, unknown>> = {}) {
  const merges = texts.parse(metadata['tokenizer.ggml.merges']);
  const tokens = texts.parse(metadata['tokenizer.ggml.tokens']);
  const all = z.array(z.number()).parse(metadata['tokenizer.ggml.token_type']);
  for (const [token, type] of Object.entries(types)) {
    if (!tokens.includes(token)) tokens[tokens.indexOf(merges.pop()!.replace(' ', ''))] = token;
    all[tokens.indexOf(token)] = type;
  }
  const lists = { tokens, merges, token_type: all };
  const changed = Object.entries(lists).map(([key, list]) => [`tokenizer.ggml.${key}`, list]);
  const file = encodeGguf({ metadata: { ...metadata, ...Object.fromEntries(changed), ...more }, tensors });
  const model = readGgufFile(file, 'x.gguf');
  const promptIds = (content: string) => encodePrompt(model, [{ role: 'user', content }]);
  return {
    ...model,
    ends: model.endIds.map((id) => tokens[id]),
    warnings: model.warnings.join('\n'),
    promptIds,
  };
}

const template = (open: string, close: string) => ({
  'tokenizer.chat_template': `{% for m in messages %}{{ '${open}' + m.role + '\\n' + m.content + '${close}\\n' }}{% endfor %}{{ '${open}assistant\\n' if add_generation_prompt }}`,
});
const usual = ['<|im_end|>', '<|endoftext|>'];

describe('the end of an answer is a token', () => {
  // What llama.cpp (0c1e570) lists as EOG for these files, and those that templates close answers with.
  const turned = { 'tokenizer.ggml.eot_token_id': 636, 'tokenizer.ggml.fim_rep_token_id': 635 };
  const known = { '<|fim_pad|>': USER_DEFINED, '<|repo_name|>': NORMAL, '[EOS]': CONTROL };
  const harmony = { '<|end|>': CONTROL, '<|return|>': CONTROL, '<|call|>': CONTROL };

  it.each<[string, Record<string, number>, Record<string, unknown>, string[]]>([
    ['that the file states', {}, {}, usual],
    [
      'whatever its type',
      { '<|im_end|>': NORMAL, '<EOT>': UNUSED },
      { 'tokenizer.ggml.eos_token_id': 637 },
      ['<|endoftext|>', '<EOT>', '<|im_end|>'],
    ],
    ['that llama.cpp knows by name', known, {}, [...usual, ...Object.keys(known)]],
    [
      'stated for turns and files',
      { '<zz>': USER_DEFINED, '<yy>': NORMAL },
      turned,
      [...usual, '<zz>', '<yy>'],
    ],
    [
      'by which the template closes an answer, whatever its name',
      { '<<role>>': NORMAL, '<<over>>': NORMAL },
      template('<<role>>', ' <<over>>'),
      [...usual, '<<over>>'],
    ],
    [
      'that opens what follows an answer, if nothing closes it',
      { '<<role>>': USER_DEFINED },
      template('<<role>>', ''),
      [...usual, '<<role>>'],
    ],
    [
      'but none that closes a part of an answer',
      harmony,
      template('<|im_start|>', '<|end|>'),
      [...usual, '<|return|>', '<|call|>'],
    ],
    [
      'but not that of another format',
      { '</s>': CONTROL, '<|tool_response>': CONTROL },
      {},
      [...usual, '<|tool_response>'],
    ],
  ])('%s', (_, types, more, ends) => {
    const model = read(types, more);
    expect(model.ends.toSorted()).toEqual(ends.toSorted());
    for (const end of ends) expect(model.tokenizer.isSpecial(model.tokenizer.idOf(end)!)).toBe(true);
  });
});

describe('a token that the template writes', () => {
  const plain = read({});

  it.each([NORMAL, CONTROL, USER_DEFINED, UNUSED])('is one token, of type %i', (type) => {
    const model = read({ '<|im_start|>': type, '<|im_end|>': type });
    expect(model.promptIds('the stones')).toEqual(plain.promptIds('the stones'));
    expect(model.warnings).toEqual(
      {
        [CONTROL!]: '',
        [USER_DEFINED!]:
          '"<|im_end|>" (639, USER_DEFINED): ends an answer, though the type of the token is not CONTROL',
      }[type] ??
        expect.stringMatching(
          /^"<\|im_end\|>" \(639.*\n"<\|im_start\|>" \(638, [A-Z]+\): is one token where/,
        ),
    );
  });

  it('is text in a message, as before, and shows in an answer', () => {
    const { promptIds, tokenizer } = read({ '<|im_start|>': NORMAL, '<|im_end|>': NORMAL });
    const count = (content: string) => promptIds(content).filter((id) => id >= END - 1).length;
    expect(count('a<|im_end|><|im_start|>b')).toBe(count('ab'));
    expect(tokenizer.decode([END - 1, END])).toBe('<|im_start|>');
  });

  it('is text where merges make it, or the template does not write it', () => {
    const { tokenizer } = read({ '<|im_start|>': NORMAL, '<<x>>': NORMAL }, template('the', '<|im_end|>'));
    expect(tokenizer.added.map(({ content }) => content)).toEqual(usual.toReversed());
  });
});

describe('metadata that change a prompt', () => {
  it.each<[string, unknown, string]>([
    ['ggml.remove_extra_whitespaces', true, 'remove_extra_whitespaces is not read'],
    ['ggml.add_bos_token', true, 'does not write "<|endoftext|>", which llama.cpp puts'],
    ['ggml.add_eos_token', true, 'tokenizer.ggml.add_eos_token: a prompt goes on'],
    ['chat_template', '{{ pad_token }}{{ messages[0].content }}', 'writes pad_token, which no file names'],
  ])('%s', (key, value, warning) => {
    expect(read({}, { [`tokenizer.${key}`]: value }).warnings).toContain(warning);
  });

  it('but not ids of other tokens', () => {
    const ids = { 'tokenizer.ggml.padding_token_id': 637, 'tokenizer.ggml.add_sep_token': false };
    expect(read({}, ids).warnings).toBe('');
  });

  it('a template for tools is taken for them', () => {
    const more = {
      'tokenizer.chat_template.tool_use': 'with tools',
      'tokenizer.chat_templates': ['tool_use'],
    };
    const { chatTemplate, warnings } = read({}, more);
    const render = (tools: unknown) =>
      chatTemplate.render([], { addGenerationPrompt: true, variables: { tools } });
    expect([render([]), warnings]).toEqual(['with tools', '']);
  });

  it('a template that takes too long is refused', async () => {
    const loop = '{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}';
    const error = await modelError(() => read({}, { 'tokenizer.chat_template': loop }));
    expect(error).toMatchObject({ file: 'x.gguf', field: 'chat_template' });
  });
});
