import { describe, expect, it } from 'vitest';
import { Assembly } from '#gateway/http/assemble.js';
import { JoinedText } from '#gateway/http/joined-text.js';
import { jsonOf } from '#gateway/http/written-json.js';

type Json = Readonly<Record<string, unknown>>;

function assembled(chunks: readonly Json[]) {
  const assembly = new Assembly();
  for (const chunk of chunks) assembly.add(chunk);
  const { fields, usage, choices } = assembly;
  return JSON.parse(jsonOf({ ...fields, usage, choices }));
}

const deltas = (...all: readonly Json[]) => {
  const chunks = all.map((delta) => ({ choices: [{ index: 0, delta }] }));
  return assembled(chunks).choices[0].message;
};

/** Tool calls of an answer, of parts that each come in a chunk of their own. */
const callsOf = (...parts: readonly Json[]) =>
  deltas(...parts.map((part) => ({ tool_calls: [part] }))).tool_calls;

const fn = (name: string | null | undefined, args: string): Json => ({
  function: { ...(name !== undefined && { name }), arguments: args },
});
const call = (id: string, name: string, args: string): Json => ({ id, ...fn(name, args) });

describe('the parts of tool calls', () => {
  const whole = call('c1', 'f', '{"a":1}');

  it.each<[string, Json, Json]>([
    [
      'with an id and name once',
      { index: 0, id: 'c1', ...fn('f', '') },
      { index: 0, ...fn(undefined, '{"a":1}') },
    ],
    [
      'with empty ids and names',
      { index: 0, id: 'c1', ...fn('f', '') },
      { index: 0, id: '', ...fn('', '{"a":1}') },
    ],
    [
      'with ids and names of null',
      { index: 0, id: 'c1', ...fn('f', '') },
      { index: 0, id: null, ...fn(null, '{"a":1}') },
    ],
    [
      'with the id and name in each',
      { index: 0, ...call('c1', 'f', '{"a"') },
      { index: 0, ...call('c1', 'f', ':1}') },
    ],
    ['without an index', call('c1', 'f', '{"a"'), fn(undefined, ':1}')],
    ['without an index, with the id in each', call('c1', 'f', '{"a"'), { id: 'c1', ...fn('', ':1}') }],
    [
      'with an id that comes later',
      { index: 0, ...fn('f', '{"a"') },
      { index: 0, id: 'c1', ...fn('', ':1}') },
    ],
  ])('are one call: %s', (_, ...parts: readonly Json[]) => {
    expect(callsOf(...parts)).toEqual([whole]);
  });

  const others = [call('c1', 'f', '{}'), call('c2', 'g', '{"b":2}')];
  it.each([
    ['by their indices', [0, 1]],
    ['with the same index', [0, 0]],
    ['without an index', [undefined, undefined]],
  ])('are two calls: %s', (_, [first, second]) => {
    const parts = [
      { index: first, ...call('c1', 'f', '{}') },
      { index: second, ...call('c2', 'g', '') },
      { index: second, ...fn(undefined, '{"b":2}') },
    ];
    expect(callsOf(...parts)).toEqual(others);
    expect(deltas({ tool_calls: parts.slice(0, 2) }, { tool_calls: parts.slice(2) }).tool_calls).toEqual(
      others,
    );
  });

  it('are two calls without ids: by their names, or where both are in a chunk', () => {
    const [f, g] = [call('', 'f', '{}'), call('', 'g', '{}')];
    expect(callsOf({ index: 0, ...f }, { index: 0, ...g })).toEqual([f, g]);
    const both = { index: 0, ...f };
    expect(deltas({ tool_calls: [both, both] }).tool_calls).toEqual([f, f]);
  });

  it('come in turns, by their indices', () => {
    const parts = [
      { index: 0, ...call('c1', 'f', '{') },
      { index: 1, ...call('c2', 'f', '{"b"') },
      { index: 0, ...fn(undefined, '}') },
      { index: 1, ...fn(undefined, ':2}') },
    ];
    expect(callsOf(...parts)).toEqual([call('c1', 'f', '{}'), call('c2', 'f', '{"b":2}')]);
  });
});

describe('the parts of an answer', () => {
  it('are joined if they are texts; other strings are whole each time', () => {
    const filtered = { hate: { filtered: false, severity: 'safe' } };
    const choice = { index: 0, native_finish_reason: 'STOP', content_filter_results: filtered };
    const { choices } = assembled([
      { choices: [{ ...choice, delta: { role: 'assistant', content: 'a', reasoning_content: 'x' } }] },
      { choices: [{ ...choice, delta: { role: 'assistant', content: 'b', reasoning_content: 'y' } }] },
    ]);
    expect(choices[0]).toMatchObject({
      ...choice,
      message: { role: 'assistant', content: 'ab', reasoning_content: 'xy' },
    });
  });

  it('are joined: texts, objects by their fields, lists by the index of their items', () => {
    const call = (index: number, fields: Json) => ({ tool_calls: [{ index, ...fields }] });
    const message = deltas(
      { role: 'assistant', content: 'a', audio: { id: 'x', data: 'A' } },
      { role: 'assistant', content: 'b', audio: { id: 'x', data: 'B', more: [1] } },
      { ...call(1, { id: 'c1', function: { name: 'g', arguments: '' } }), content: null },
      { ...call(0, { id: 'c0', function: { name: 'f', arguments: '{' } }), list: [1, { a: 1 }] },
      { ...call(1, { function: { name: 'g', arguments: '{' } }), list: [[2], { a: 1 }, { a: 2 }] },
      { ...call(0, { id: 'c0', function: { arguments: '}' } }), audio: { more: [2] } },
    );
    expect(message).toEqual({
      role: 'assistant',
      content: 'ab',
      audio: { id: 'x', data: 'AB', more: [1, 2] },
      tool_calls: [
        { id: 'c0', function: { name: 'f', arguments: '{}' } },
        { id: 'c1', function: { name: 'g', arguments: '{' } },
      ],
      list: [1, { a: 1 }, [2], { a: 2 }],
    });
  });

  it('are joined within one chunk, too', () => {
    const tool_calls = [
      { index: 0, id: 'c', function: { name: 'f' } },
      { index: 0, function: { arguments: '{}' } },
      { id: 'without an index' },
    ];
    expect(deltas({ tool_calls })).toEqual({
      tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }, { id: 'without an index' }],
    });
  });

  it('keep the order of a list, whether its items have an index or not', () => {
    const first = Array.from({ length: 300 }, (_, i) => i);
    const message = deltas(
      { list: first },
      { list: [{ index: 7, text: 'x' }, 1] },
      { list: [{ index: 7, text: 'y' }, 2] },
    );
    expect(message).toEqual({ list: [...first, { index: 7, text: 'xy' }, 1, 2] });
  });

  it('of another kind than those before take their place', () => {
    const message = deltas(
      { a: 'text', b: { x: 1 }, c: [1], d: 1, e: null, f: { x: null } },
      { a: { x: 1 }, b: [1], c: 'text', d: 2, e: 'text', f: { x: 'text' } },
      { a: { y: 2 }, b: [2], c: 'more', d: null, e: null },
    );
    expect(message).toEqual({
      a: { x: 1, y: 2 },
      b: [1, 2],
      c: 'textmore',
      d: 2,
      e: 'text',
      f: { x: 'text' },
    });
  });

  it('have any names', () => {
    const part = (value: string): Json =>
      JSON.parse(`{"__proto__":{"text":"${value}","toJSON":"${value}"},"constructor":{"text":"${value}"}}`);
    expect(JSON.stringify(deltas(part('a'), part('b')))).toBe(
      '{"__proto__":{"text":"ab","toJSON":"ab"},"constructor":{"text":"ab"}}',
    );
  });

  it('are left as they came', () => {
    const first = { object: { text: 'a' }, list: [{ index: 0, text: 'a' }] };
    const before = structuredClone(first);
    deltas(first, { object: { text: 'b' }, list: [{ index: 0, text: 'b' }] });
    expect(first).toEqual(before);
  });

  it('nest as deep as a chunk may', () => {
    const nested = (value: string): Json =>
      JSON.parse(`${'{"text":'.repeat(900)}"${value}"${'}'.repeat(900)}`);
    expect(deltas(nested('a'), nested('b'))).toEqual(nested('ab'));
  });
});

it('of the fields beside the choices, and of the usage, the last counts', () => {
  const whole = assembled([
    { a: 1, b: { x: 1 }, c: 'c', usage: { n: 1, m: 1 }, obfuscation: 'x' },
    {
      a: 'two',
      b: { y: 2 },
      c: null,
      usage: { n: 2 },
      choices: [{ index: 2 }, { index: 1, finish_reason: 'stop' }],
    },
    { usage: null },
  ]);
  const choice = { message: {}, logprobs: null };
  expect(whole).toEqual({
    a: 'two',
    b: { y: 2 },
    c: 'c',
    usage: { n: 2 },
    choices: [
      { ...choice, index: 1, finish_reason: 'stop' },
      { ...choice, index: 2, finish_reason: null },
    ],
  });
});

describe('a string that is said more than once', () => {
  it.each([
    ['First second.', ['First ', 'second.']],
    ['ha ha', ['ha', ' ha']],
    ['hahaha!', ['ha', 'ha', 'ha', '!']],
    ['  ', [' ', ' ']],
    ['110', ['1', '10']],
    ['STOP', ['STOP', 'STOP', 'STOP']],
    ['One two. Three.', ['One', 'One two.', 'One two.', 'One two. Three.']],
    ['get_weather', ['get_', 'weather']],
    ['get_weather', ['get_', 'get_weather']],
  ])('is %j of %j', (whole, [first = '', ...others]) => {
    const text = new JoinedText(first);
    for (const other of others) text.add(other);
    expect(text.whole).toBe(whole);
  });
});

const text = (text: string): Json => ({ type: 'text', text });
const thinking = (thinking: string, signature?: string): Json => ({
  type: 'thinking',
  thinking,
  ...(signature !== undefined && { signature }),
});
const cited = (url: string): Json => ({
  type: 'url_citation',
  url_citation: { url, title: 'A b', start_index: 0 },
});

describe('parts of a message with names that nobody knows', () => {
  it.each<[string, readonly Json[], Json]>([
    ['text', [{ plan: 'Go ' }, { plan: 'north' }], { plan: 'Go north' }],
    [
      'text within',
      [{ x: { reasoning_text: 'a ' } }, { x: { reasoning_text: 'b' } }],
      { x: { reasoning_text: 'a b' } },
    ],
    [
      'labels',
      [
        { span_id: 'a', trace: { kind: 'x' } },
        { span_id: 'b', trace: { kind: 'y' } },
      ],
      { span_id: 'b', trace: { kind: 'y' } },
    ],
    ['words that are always text', [{ content: 'ha' }, { content: 'ha' }], { content: 'haha' }],
    [
      'lists told so far',
      [{ sources: ['a', 'b'] }, { sources: ['a', 'b', 'c'] }],
      { sources: ['a', 'b', 'c'] },
    ],
    ['lists in parts', [{ sources: ['a'] }, { sources: ['b'] }], { sources: ['a', 'b'] }],
    [
      'objects told again',
      [{ notes: [cited('https://a')] }, { notes: [cited('https://a'), cited('https://b')] }],
      { notes: [cited('https://a'), cited('https://b')] },
    ],
    [
      'flat objects',
      [
        { hits: [{ type: 'web', url: 'https://a', title: 'A' }] },
        { hits: [{ type: 'web', url: 'https://b', title: 'B' }] },
      ],
      {
        hits: [
          { type: 'web', url: 'https://a', title: 'A' },
          { type: 'web', url: 'https://b', title: 'B' },
        ],
      },
    ],
    [
      'parts by id',
      [
        {
          steps: [
            { id: 'a', note: 'x ' },
            { id: 'b', note: 'y' },
          ],
        },
        { steps: [{ id: 'a', note: 'z' }] },
      ],
      {
        steps: [
          { id: 'a', note: 'x z' },
          { id: 'b', note: 'y' },
        ],
      },
    ],
    [
      'types of one index',
      [{ r: [{ index: 0, type: 'r.text', text: 'a' }] }, { r: [{ index: 0, type: 'r.sealed', data: 'b' }] }],
      {
        r: [
          { index: 0, type: 'r.text', text: 'a' },
          { index: 0, type: 'r.sealed', data: 'b' },
        ],
      },
    ],
    [
      'two signed thoughts',
      [
        { blocks: [thinking('a')] },
        { blocks: [thinking('', 's')] },
        { blocks: [thinking('b')] },
        { blocks: [thinking('', 't')] },
      ],
      { blocks: [thinking('a', 's'), thinking('b', 't')] },
    ],
    [
      'sealed thoughts',
      [
        { blocks: [{ type: 'redacted_thinking', data: 'a' }] },
        { blocks: [{ type: 'redacted_thinking', data: 'b' }] },
      ],
      {
        blocks: [
          { type: 'redacted_thinking', data: 'a' },
          { type: 'redacted_thinking', data: 'b' },
        ],
      },
    ],
    [
      'a text before parts',
      [{ content: 'a' }, { content: [thinking('b')] }, { content: 'c' }, { content: [text('d')] }],
      { content: [text('a'), thinking('b'), text('cd')] },
    ],
    [
      'pictures',
      [
        { content: [{ type: 'image_url', image_url: { url: 'data:a' } }] },
        { content: [{ type: 'image_url', image_url: { url: 'data:b' } }] },
      ],
      {
        content: [
          { type: 'image_url', image_url: { url: 'data:a' } },
          { type: 'image_url', image_url: { url: 'data:b' } },
        ],
      },
    ],
    [
      'an older call',
      [{ function_call: { name: 'get_' } }, { function_call: { name: 'time' } }],
      { function_call: { name: 'get_time', arguments: '{}' } },
    ],
  ])('are joined: %s', (_, parts, whole) => {
    expect(deltas(...parts)).toEqual(whole);
  });
});
