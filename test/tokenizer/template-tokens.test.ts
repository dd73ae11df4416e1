import { describe, expect, it } from 'vitest';
import { ChatTemplate } from '#src/tokenizer/chat-template.js';
import { closingToken, conversationsOf, tokenFaults } from '#src/tokenizer/template-tokens.js';

const TOKENS = ['<e>', '<e>>', '<s>', '[INST]'];
const made = (source: string | null): ChatTemplate =>
  new ChatTemplate(source, {
    file: 'x',
    namedTokens: new Map([
      ['eos_token', '<e>'],
      ['bos_token', '<nope>'],
    ]),
  });
const each = (body: string): string => `{% for m in messages %}${body}{% endfor %}`;

describe('the token that closes an answer', () => {
  it.each([
    ['after its text', each('<s>{{ m.content }}<e>'), '<e>'],
    ['after white space', each('{{ m.content }} \n<e>'), '<e>'],
    ['by its name', each('{{ m.content + eos_token }}'), '<e>'],
    ['the longest', each('{{ m.content }}<e>>'), '<e>>'],
    [
      'of the last one, in a template that closes others otherwise',
      each('{{ m.content }}{{ "<e>" if loop.last else "<s>" }}'),
      '<e>',
    ],
    ['of one that a question follows', each('{{ m.content }}{{ "" if loop.last else "<e>" }}'), '<e>'],
    ['what opens the next message', each('[INST]{{ m.content }}'), '[INST]'],
    [
      'in a template that refuses an answer at the end',
      `{{ raise_exception('x') if messages | length == 2 }}${each('{{ m.content }}<e>')}`,
      '<e>',
    ],
    ['none, of text', each('{{ m.role }}: {{ m.content }}\n'), null],
    ['none, without template', null, null],
  ])('%s', (_, source, token) => {
    expect(closingToken(conversationsOf(made(source)), TOKENS)).toBe(token);
  });
});

describe('faults of tokens by name', () => {
  it.each([
    ['none', '{{ eos_token }}', []],
    [
      'of no file',
      '{{ pad_token }}{{ eos_token }}',
      [expect.stringMatching(/writes pad_token, which no file names/)],
    ],
    [
      'not in the vocabulary',
      'x{{ bos_token + "y" }}',
      [expect.stringMatching(/bos_token is "<nope>", which is no token/)],
    ],
    ['never written', "{# pad_token #}{{ 'a' if pad_token else 'b' }}", []],
  ])('%s', (_, source, faults) => {
    expect(tokenFaults(made(source), (token) => token === '<e>')).toEqual(faults);
  });
});
