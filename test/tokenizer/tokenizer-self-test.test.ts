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

  const long = 'a'.repeat(16);

  it.each([
    ['much', replace(`${long}a`), 'normalizer.content'],
    ['more and more', steps(replace(long), replace(long), replace('aa')), 'normalizer.normalizers'],
    [
      'between characters',
      steps(replace(long, { Regex: '' }), replace(long, { String: '' })),
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
  const opened = async (source: string) => openChatTemplate(await folder({ 'chat_template.jinja': source }));
  const grown = (from: string, by: string) =>
    `{% set ns = namespace(x=${from}) %}{% for i in range(99) %}{% set ns.x = ${by} %}{% endfor %}`;
  const loop = (name: string, body: string) => `{% for ${name} in range(9999) %}${body}{% endfor %}`;

  it.each([
    ['loops', loop('i', loop('j', '{{ i }}'))],
    ['writes much', grown("'text'", 'ns.x ~ ns.x')],
    ['nests much', `${grown('[1]', '[ns.x, ns.x]')}{{ ns.x|tojson }}`],
  ])('%s', async (_, source) => {
    const error = await modelError(() => opened(source));
    expect(error.message).toMatch(/chat_template\.jinja: chat_template: the self-test failed: /);
  });

  it.each([
    ['refuses messages', "{{ raise_exception('no') }}"],
    ['holds itself, and fails at once', '{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ [ns]|tojson }}'],
  ])('while one that %s is not', async (_, source) => {
    await expect(opened(source)).resolves.toBeDefined();
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
