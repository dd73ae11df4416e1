import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeJson } from '#src/files/json.js';
import { parseJsonText } from '#src/files/json-text.js';
import { openChatTemplate } from '#src/tokenizer/chat-template.js';
import { openTokenizer } from '#src/tokenizer/tokenizer.js';
import { fixture, folder, json, modelError } from '../support/graphs.js';

const base = await json(fixture('tiny-llama'), 'tokenizer.json');
const opened = async (changes: object) =>
  openTokenizer(await folder({ 'tokenizer.json': { ...base, ...changes } }), { vocabSize: 640 });
const split = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
const replace = (content: string, pattern: object = { String: 'a' }) => ({
  type: 'Replace',
  pattern,
  content,
});
const steps = (...normalizers: object[]) => ({ type: 'Sequence', normalizers });

describe('a tokenizer that explodes is refused when it is opened', () => {
  it.each([
    ['of a pre-tokenizer', { pre_tokenizer: split('(?:xy|x|y)*[!]|.') }, 'pre_tokenizer'],
    ['of a normaliser', { normalizer: replace('', { Regex: '(\\s|\\n)*x' }) }, 'normalizer'],
  ])('%s', async (_, changes, field) => {
    const error = await modelError(() => opened(changes));
    expect(error.message).toMatch(/tokenizer\.json: .*: the self-test failed: it takes more than 1000 ms/);
    expect(error.field).toBe(field);
  });

  it.each([
    ['much', replace('a'.repeat(17)), 'normalizer.content'],
    [
      'more and more',
      steps(replace('a'.repeat(16)), replace('a'.repeat(16)), replace('aa')),
      'normalizer.normalizers',
    ],
    [
      'between characters',
      steps(replace('a'.repeat(16), { Regex: '' }), replace('a'.repeat(16), { String: '' })),
      'normalizer.normalizers',
    ],
  ])('writing %s', async (_, normalizer, field) => {
    expect((await modelError(() => opened({ normalizer }))).field).toBe(field);
  });

  it.each([
    [
      'a lookahead',
      { pre_tokenizer: split('[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}]*[\\p{Ll}\\p{M}]+|\\s+(?!\\S)|\\s+|.') },
    ],
    ['replacements', { normalizer: steps(replace('▁', { Regex: ' {2,}' }), replace('a', { String: 'b' })) }],
  ])('while one with %s is not', async (_, changes) => {
    expect((await opened(changes)).encode('hello world').length).toBeGreaterThan(0);
  });
});

describe('a chat template that explodes is refused when it is opened', () => {
  it.each([
    ['loops', '{% for i in range(9999) %}{% for j in range(9999) %}{{ i }}{% endfor %}{% endfor %}'],
    [
      'writes much',
      "{% set ns = namespace(x='text') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    ],
    [
      'nests much',
      '{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}',
    ],
    ['holds itself', '{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns.x.x.x }}{{ [ns]|tojson }}'],
  ])('%s', async (name, source) => {
    const dir = await folder({ 'chat_template.jinja': source });
    if (name === 'holds itself') {
      await expect(openChatTemplate(dir)).resolves.toBeDefined(); // fails at once, at each request
      return;
    }
    const error = await modelError(() => openChatTemplate(dir));
    expect(error.message).toMatch(/chat_template\.jinja: chat_template: the self-test failed: /);
  });

  it('while one that refuses messages is not', async () => {
    const dir = await folder({ 'chat_template.jinja': "{{ raise_exception('no') }}" });
    await expect(openChatTemplate(dir)).resolves.toBeDefined();
  });
});

describe('a file that is no JSON', () => {
  const secret = 'root:x:0:0:hunter2 at position 17';

  it('is not quoted', async () => {
    const bytes = new TextEncoder().encode(secret);
    expect((await modelError(() => decodeJson(bytes, 'config.json'))).message).toBe(
      'config.json: is not JSON in UTF-8',
    );
    expect(() => parseJsonText(secret, z.string(), 'config.json')).toThrow(
      /^config\.json: is not valid JSON$/,
    );
  });

  it('is wrong somewhere', async () => {
    const bytes = new TextEncoder().encode('{"a": 1,\n}');
    expect((await modelError(() => decodeJson(bytes, 'config.json'))).message).toMatch(/ \(at position 9\)$/);
  });
});
