import { describe, expect, it } from 'vitest';
import { TemplateError } from '#src/files/file-errors.js';
import { reasonerPath } from '#src/package-root.js';
import { type ChatMessage, ChatTemplate, openChatTemplate } from '#src/tokenizer/chat-template.js';
import { FIXTURES, fixture, folder, modelError } from '../support/graphs.js';

const NOW = new Date(2026, 1, 3, 14, 5, 9); // a Tuesday, local time
const HELLO = [{ role: 'user', content: 'hi' }] as const;

function render(source: string, addGenerationPrompt = false): string {
  const namedTokens = new Map([['bos_token', '<s>']]);
  const template = new ChatTemplate(source, { file: 'chat_template.jinja', namedTokens, now: () => NOW });
  return template.render(HELLO, { addGenerationPrompt });
}

describe('ChatTemplate', () => {
  it('tells whether it leaves out what came before the last question', async () => {
    expect((await openChatTemplate(reasonerPath)).isSingleTurn).toBe(true);
    for (const name of FIXTURES) expect((await openChatTemplate(fixture(name))).isSingleTurn).toBe(false);
    const refusing = "{% if messages | length > 1 %}{{ raise_exception('one question') }}{% endif %}";
    const context = { file: 'chat_template.jinja', namedTokens: new Map<string, string>() };
    for (const source of [refusing, null]) expect(new ChatTemplate(source, context).isSingleTurn).toBe(false);
  });

  it('of the embedded model keeps the system message, the last question, and what follows it', async () => {
    const template = await openChatTemplate(reasonerPath);
    const [system, user] = ['system', 'user'].map((role) => ({ role, content: role }));
    const begun = { role: 'assistant', content: 'begun' };
    const render = (...messages: ChatMessage[]): string =>
      template.render(messages, { addGenerationPrompt: false });
    expect(render(system!, user!, begun, user!)).toBe(render(system!, user!));
    expect(render(user!, begun, user!, begun)).toBe(render(user!, begun));
    expect(render(system!)).toBe('<|im_start|>system\nsystem<|im_end|>\n');
  });

  it('ends with the opening of an answer only where asked to', async () => {
    const template = await openChatTemplate(fixture('tiny-llama'));
    const open = template.render(HELLO, { addGenerationPrompt: true });
    expect(open).toBe(`${template.render(HELLO, { addGenerationPrompt: false })}<|im_start|>assistant\n`);
  });

  const unnamed = '{{ eos_token }}{{ 1 if eos_token is defined else 0 }}';
  const looped =
    '{% for x in messages[0].tool_calls %}a{% else %}b{% endfor %}{% for x in y if x %}c{% endfor %}';
  const escaped = 'a\\\nb{{ "}}\\\nc\\\\" }}{% set x = \'d"\\\n\\\'e\' %}{{ x }}';

  it.each([
    ['named tokens', '{{ bos_token }}x', '<s>x'],
    ['tokens the checkpoint does not name, which are undefined', unnamed, '0'],
    ['no tools', '{{ 1 if tools is none and documents is none else 0 }}', '1'],
    ['today', '{{ strftime_now("%d %b %Y") }}', '03 Feb 2026'],
    ['ranges', '{% for i in range(3) %}{{ i }}{% endfor %}{{ range(4, 0, -2) | list | length }}', '0122'],
    ['line ends of Windows and of old', "a\r\nb{{ 'c\r\nd' }}\re", 'a\nbc\nd\ne'],
    ['strings that go on after a backslash at the end of a line, and no others', escaped, 'a\\\nb}}c\\d"\'e'],
    ['loops over what is not defined', looped, 'b'],
    ['lines of blocks', '{% if true %}\n  {% if true %}\na\n  {% endif %}\n{% endif %}\n', 'a\n'],
  ])('knows %s', (_, source, output) => {
    expect(render(source)).toBe(output);
  });

  it('tells what the template says when it refuses the messages', () => {
    const attempt = () => render('{{ raise_exception("Roles must alternate") }}');
    expect(attempt).toThrow(TemplateError);
    expect(attempt).toThrow('chat_template.jinja: chat_template: Roles must alternate');
  });

  it('says that a model without template cannot chat, when it is to chat', async () => {
    const template = new ChatTemplate(null, { file: 'tokenizer_config.json', namedTokens: new Map() });
    expect(template.source).toBeNull();
    const error = await modelError(() => template.render(HELLO, { addGenerationPrompt: true }));
    expect(error).toMatchObject({ file: 'tokenizer_config.json', field: 'chat_template' });
    expect(error.message).toMatch(/is missing/);
  });

  it.each([
    ['broken syntax', '{% if %}'],
    ['an unclosed block', '{% for m in messages %}'],
    ['an unknown filter', '{{ messages | nonsense }}'],
    ['a call of nothing', '{{ nothing() }}'],
    ['a list that is far too long', '{{ range(100001) }}'],
    ['a list that would exhaust memory', '{{ range(1000000000000) }}'],
    ['a range without steps', '{{ range(1, 2, 0) }}'],
    ['recursion without end', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'],
  ])('refuses %s', async (_, source) => {
    expect(await modelError(() => render(source))).toMatchObject({
      file: 'chat_template.jinja',
      field: 'chat_template',
    });
  });
});

describe('openChatTemplate', () => {
  const rendered = async (files: Record<string, string | object>) =>
    (await openChatTemplate(await folder(files))).render(HELLO, { addGenerationPrompt: false });

  it('passes named tokens, written as strings or objects', async () => {
    const config = {
      bos_token: { content: '<s>' },
      eos_token: '</s>',
      chat_template: '{{ bos_token }}|{{ eos_token }}',
    };
    expect(await rendered({ 'tokenizer_config.json': config })).toBe('<s>|</s>');
  });

  // Values of transformers 5.24.
  const map = { bos_token: '<s>', eos_token: { content: '</s>', lstrip: false } };
  const decoder = { 0: { content: '<s>' } };
  const chat_template = '{{ bos_token }}|{{ eos_token }}|{{ image_token }}|{{ odd }}';
  it.each<[string, object, string]>([
    ['reads special_tokens_map.json', {}, '<s>|</s>||'],
    ['which overrides', { eos_token: '<e>', image_token: '<i>' }, '<s>|</s>|<i>|'],
    ['but not beside added_tokens_decoder', { eos_token: '<e>', added_tokens_decoder: decoder }, '|<e>||'],
    [
      'passes tokens of any name',
      { extra_special_tokens: { odd: '<o>', image_token: '<i>' } },
      '<s>|</s>|<i>|<o>',
    ],
    ['and no switches', { image_token: null, add_bos_token: true }, '<s>|</s>||'],
  ])('%s', async (_, config, output) => {
    const files = { 'tokenizer_config.json': { chat_template, ...config }, 'special_tokens_map.json': map };
    expect(await rendered(files)).toBe(output);
  });

  const templates = ['tool_use', 'default'].map((name) => ({ name, template: name }));

  it.each([
    ['tokenizer_config.json', { 'tokenizer_config.json': { chat_template: templates } }],
    [
      'a folder',
      { 'chat_template.jinja': 'default', 'additional_chat_templates/tool_use.jinja': 'tool_use' },
    ],
  ])('takes the template for tools where there are some, of %s', async (_, files) => {
    const template = await openChatTemplate(await folder(files));
    const render = (variables: object) =>
      template.render(HELLO, { addGenerationPrompt: false, variables: { ...variables } });
    expect([{}, { tools: null }, { tools: [] }].map(render)).toEqual(['default', 'default', 'tool_use']);
  });

  it('prefers chat_template.jinja to the configuration, and that to chat_template.json', async () => {
    const files = { 'chat_template.json': { chat_template: 'json' } };
    expect(await rendered(files)).toBe('json');
    const more = { ...files, 'tokenizer_config.json': { chat_template: 'config' } };
    expect(await rendered(more)).toBe('config');
    expect(await rendered({ ...more, 'chat_template.jinja': 'jinja\n' })).toBe('jinja');
  });

  it('finds none in a base model', async () => {
    expect((await openChatTemplate(await folder({ 'tokenizer_config.json': {} }))).source).toBeNull();
    expect((await openChatTemplate(await folder({}))).source).toBeNull();
  });

  const config = 'tokenizer_config.json';
  const tools = 'additional_chat_templates/tool_use.jinja';

  it.each([
    [config, 'chat_template', { [config]: { chat_template: 5 } }],
    [config, 'chat_template', { [config]: { chat_template: [{ name: 'rag', template: '' }] } }],
    [config, 'split_special_tokens', { [config]: { split_special_tokens: true } }],
    [tools, '', { [tools]: 'x' }],
    ['special_tokens_map.json', 'eos_token', { 'special_tokens_map.json': { eos_token: 5 } }],
    ['chat_template.jinja', 'chat_template', { 'chat_template.jinja': '{% if %}' }],
    ['chat_template.json', 'chat_template', { 'chat_template.json': { chat_template: 5 } }],
  ])('refuses %s: %s, case %#', async (file, field, files: Record<string, string | object>) => {
    const dir = await folder(files);
    expect(await modelError(() => openChatTemplate(dir))).toMatchObject({ file: `${dir}/${file}`, field });
  });
});
