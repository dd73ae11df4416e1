import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import { Assembly } from '#gateway/http/assemble.js';
import { JoinedText } from '#gateway/http/joined-text.js';
import { jsonOf } from '#gateway/http/written-json.js';

type Json = Readonly<Record<string, unknown>>;

function messageOf(deltas: readonly Json[]): Json {
  const assembly = new Assembly();
  for (const delta of deltas) assembly.add({ choices: [{ index: 0, delta }] });
  return JSON.parse(jsonOf(assembly.choices[0]?.message));
}

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
  ])('are joined: %s', (_, deltas, whole) => {
    expect(messageOf(deltas)).toEqual(whole);
  });
});

/** A message as servers write them, and the deltas that one sends of it. */
class Server {
  readonly #random;

  constructor(seed: number) {
    this.#random = xoroshiro128plus(seed);
  }

  below = (bound: number): number => uniformInt(this.#random, 0, bound - 1);

  some = <T>(most: number, make: (i: number) => T): T[] =>
    Array.from({ length: this.below(most + 1) }, (_, i) => make(i));

  pick = <T>(...all: readonly [T, ...T[]]): T => all[this.below(all.length)] ?? all[0];

  /** Words of a model: some are said twice. */
  prose = (): string =>
    this.pick('Ulm', 'ha', 'Hm') +
    this.some(9, () => this.pick(' ha', ' Ulm', '.', '\n\n', ' 1', ' 10', 'é', '{}')).join('');

  /** In pieces, none of which begins with the one before, as a text so far does. */
  cut(whole: string): string[] {
    const at = 1 + this.below(Math.max(1, whole.length - 1));
    const rest = whole.slice(at);
    if (rest === '') return [whole];
    if (rest.startsWith(whole.slice(0, at))) return [whole];
    return this.below(3) === 0 ? [whole.slice(0, at), rest] : [whole.slice(0, at), ...this.cut(rest)];
  }

  /** What servers send of a label after the first mention. */
  again = (label: string, name: string): Json =>
    this.pick<Json>({}, { [name]: label }, { [name]: '' }, { [name]: null });

  /** A typed part, with its text in pieces. */
  part(part: Json, name: string): Json[] {
    const { [name]: whole, signature, ...labels } = part;
    const pieces = this.cut(String(whole)).map((piece) => ({ ...labels, [name]: piece }));
    return signature === undefined ? pieces : [...pieces, { ...labels, [name]: '', signature }];
  }

  call(index: number): { readonly whole: Json; readonly parts: Json[] } {
    const [id, name] = [`call_${index}`, `get_${this.pick('weather', 'time')}_${index}`];
    const args = this.pick('', '{}', `{"a":{"b":"${'}{'.repeat(this.below(3))}"}}`);
    const names = this.pick([name], this.cut(name));
    const [first = '', ...rest] = names;
    return {
      whole: { id, type: 'function', function: { name, arguments: args || '{}' } },
      parts: [
        { index, id, type: 'function', function: { name: first } },
        ...rest.map((name) => ({ index, ...this.again(id, 'id'), function: { name, arguments: '' } })),
        ...(args === '' ? [] : this.cut(args)).map((piece) => ({
          index,
          ...this.again(id, 'id'),
          function: { ...(names.length === 1 && this.again(name, 'name')), arguments: piece },
        })),
      ],
    };
  }

  answer(): { readonly whole: Json; readonly deltas: Json[] } {
    const whole: Record<string, unknown> = { role: 'assistant' };
    const deltas: Json[] = [];
    const label = { format: 'v1' };
    for (const name of ['reasoning_content', 'reasoning_text', 'thought_summary']) {
      if (this.below(2) === 0) continue;
      whole[name] = this.prose();
      for (const piece of this.cut(`${whole[name]}`))
        deltas.push({
          ...this.again('assistant', 'role'),
          [name]: piece,
          content: this.pick<unknown>(null, ''),
        });
    }
    const blocks = this.some(2, (i) => thinking(this.prose(), `sig${i}==`));
    if (blocks.length > 0) {
      whole.provider = { ...label, thinking_blocks: blocks };
      for (const block of blocks)
        for (const part of this.part(block, 'thinking'))
          deltas.push({ provider: { ...this.again('v1', 'format'), thinking_blocks: [part] } });
      deltas.push({ provider: label });
    }
    // Neighbours of one type would be one part.
    const parts = this.some(5, (i) =>
      i % 2 === 0
        ? text(this.prose())
        : this.pick(thinking(this.prose()), { type: 'reference', reference_ids: [i] }),
    );
    if (parts.length > 1) {
      whole.content = parts;
      for (const part of parts) {
        const pieces = part.type === 'reference' ? [part] : this.part(part, String(part.type));
        for (const piece of pieces)
          deltas.push({
            content:
              piece.type === 'text' && deltas.some(({ content }) => Array.isArray(content))
                ? this.pick<unknown>([piece], piece.text)
                : [piece],
          });
      }
    } else {
      whole.content = this.prose();
      for (const piece of this.cut(String(whole.content))) deltas.push({ content: piece });
    }
    const notes = this.some(3, (i) => cited(`https://${i}`));
    if (notes.length > 0) whole.annotations = notes;
    for (const i of notes.keys())
      deltas.push({ annotations: this.pick(notes.slice(i, i + 1), notes.slice(0, i + 1)) });
    const calls = this.some(3, (i) => this.call(i));
    if (calls.length > 0) whole.tool_calls = calls.map(({ whole }) => whole);
    // In turns, each in its order.
    for (
      let left = calls.map(({ parts }) => parts);
      left.length > 0;
      left = left.filter((parts) => parts.length > 0)
    ) {
      const part = left[this.below(left.length)]?.shift();
      if (part) deltas.push({ tool_calls: [part] });
    }
    return { whole, deltas: [{ role: 'assistant' }, ...deltas] };
  }
}

it('a message that is sent in parts is whole again', () => {
  for (let seed = 0; seed < 400; seed++) {
    const { whole, deltas } = new Server(seed).answer();
    expect(messageOf(deltas), `seed ${seed}`).toEqual(whole);
  }
});
