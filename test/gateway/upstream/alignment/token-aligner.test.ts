import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenAligner } from '#gateway/upstream/alignment/token-aligner.js';
import type { UpstreamPiece, UpstreamToken } from '#gateway/upstream/upstream.js';
import type { WrittenPart } from '#gateway/upstream/wire/beside-text.js';

const token = (text: string, fields: Partial<UpstreamToken> = {}): UpstreamToken => ({
  id: text.length,
  text,
  logprob: -1,
  topLogprobs: [],
  ...fields,
});

type Said = Parameters<TokenAligner['push']>[0];

/**
 * A chunk, or as a text what it says, and after `⇐` its tokens, between which is a `·`: `R:Hm+Yes+C0⇐Hm·Yes·{}` says a
 * reasoning, a text and the first call. Without `⇐` no tokens are described.
 */
type Chunk = string | Partial<Said>;

function chunkOf(chunk: Chunk): Partial<Said> {
  if (typeof chunk !== 'string') return chunk;
  const [said = '', tokens] = chunk.split('⇐');
  const parts: WrittenPart[] = [];
  let text = '';
  for (const each of said.split('+')) {
    const [, call] = /^C(\d)$/.exec(each) ?? [];
    if (each.startsWith('R:')) parts.push({ kind: 'reasoning', text: each.slice(2) });
    else if (call) parts.push({ kind: 'tool_calls', text: '', call: Number(call) });
    else text = each;
  }
  return { text, parts, tokens: tokens === undefined ? null : tokens.split('·').map((each) => token(each)) };
}

function aligned(chunks: readonly Chunk[], lags = false): UpstreamPiece[] {
  const aligner = new TokenAligner({ lags });
  const nothing = { text: '', tokens: null, ids: null, parts: [], written: null, finishReason: null };
  const pieces = chunks.flatMap((chunk) => aligner.push({ ...nothing, ...chunkOf(chunk) }));
  return [...pieces, ...aligner.end()];
}

/** The same, where the last chunk also ends the answer. */
const ended = (chunks: readonly Chunk[], lags = false): UpstreamPiece[] =>
  aligned([...chunks.slice(0, -1), { ...chunkOf(chunks.at(-1)!), finishReason: 'stop' }], lags);

const NAMES = { reasoning: 'R', tool_calls: 'C' } as const;

/** Each piece as its text and after `⇐` its tokens, those of another part with its name; `?` where tokens are not told. */
const short = (pieces: readonly UpstreamPiece[]): string[] =>
  pieces.map(({ text, tokens, hidden }) => {
    const own = tokens?.map(
      (each) => `${each.part ? `${NAMES[each.part]}${each.call ?? ''}:` : ''}${each.text}`,
    );
    return `${hidden ? '?' : ''}${text}${own ? `⇐${own.join('·')}` : ''}`;
  });

/** No text is lost, and none is added. */
const textOf = (pieces: readonly UpstreamPiece[]): string => pieces.map(({ text }) => text).join('');

const bytes = (...own: number[]): UpstreamToken => token('\uFFFD', { bytes: own });

describe('tokens and text', () => {
  it.each<[string, readonly Chunk[], readonly string[]]>([
    ['one by one', ['a⇐a', ' b⇐ b'], ['a⇐a', ' b⇐ b']],
    ['several in a chunk', ['a b⇐a· b'], ['a b⇐a· b']],
    ['none described', ['a', ' b⇐ b'], ['a', ' b⇐ b']],
    ['the token that ends the answer has no text', ['a⇐a', '⇐<|end|>'], ['a⇐a']],
    ['special tokens between have none', ['a⇐a', '⇐<think>', ' b⇐ b'], ['a⇐a', '⇐', ' b⇐ b']],
    ['another text', ['a⇐x', ' b⇐ b'], ['a', ' b⇐ b']],
    ['more tokens than text, of which the last may end the answer', ['a⇐a· b· c'], ['a⇐a', '⇐']],
    ['a special token after the text of a chunk', ['a⇐a·<mark>', ' b⇐ b'], ['a⇐a', '⇐', ' b⇐ b']],
    ['less tokens than text', ['a b c⇐a· b', ' d⇐ d'], ['a b⇐a· b', ' c', ' d⇐ d']],
  ])('%s', (_, chunks, expected) => {
    const pieces = ended(chunks);
    expect(short(pieces)).toEqual(expected);
  });

  it('text without tokens is not held back', () => {
    const aligner = new TokenAligner({ lags: false });
    const rest = { ids: null, parts: [], written: null, finishReason: null };
    expect(short(aligner.push({ text: '', tokens: [token('')], ...rest }))).toEqual([]);
    expect(short(aligner.push({ text: 'a', tokens: null, ...rest }))).toEqual(['a']);
  });

  it('a token that the server swallows gives its log-probability to no other of the same text', () => {
    const pieces = ended([
      { tokens: [token(' ha', { logprob: -9 })] },
      { text: ' ha', tokens: [token(' ha', { logprob: -1 })] },
      { text: ' ha', tokens: [token(' ha', { logprob: -2 })] },
    ]);
    expect(pieces.flatMap(({ tokens }) => tokens?.map(({ logprob }) => logprob))).toEqual([-9, -1, -2]);
    expect(pieces.map(({ text }) => text)).toEqual(['', ' ha', ' ha']);
  });

  it.each<[string, readonly Chunk[], readonly string[]]>([
    ['waits for its text', ['⇐Hello', 'Hel⇐ wor', 'lo w⇐ld', 'orld'], ['Hello⇐Hello', ' world⇐ wor·ld']],
    ['has no log-probability where a stop string cut it', ['⇐Hello', 'Hel'], ['Hel']],
    ['may be earlier than a text that fits another', ['⇐<mark>', ' ha⇐ ha'], [' ha']],
    ['is not trusted after one that did not fit', [' ha⇐ xx', ' ha⇐ ha', ' ha⇐ ha'], [' ha', ' ha', ' ha']],
  ])('a token before its text, as where stop strings are looked for, %s', (_, chunks, expected) => {
    const withoutIds = (each: UpstreamToken): UpstreamToken => ({ ...each, id: null });
    const own = chunks
      .map(chunkOf)
      .map((each) => ({ ...each, tokens: each.tokens?.map(withoutIds) ?? null }));
    expect(short(ended(own, true))).toEqual(expected);
  });

  it('ids without texts stay with the text that they came with, and where texts do not fit', () => {
    expect(aligned([{ text: 'a b', ids: [7, 8] }, { ids: [9] }])).toEqual([
      { text: 'a b', tokens: null, ids: [7, 8] },
      { text: '', tokens: null, ids: [9] },
    ]);
    const other = aligned([{ text: 'a', tokens: [token('x', { id: 7 })] }]);
    expect(other).toEqual([{ text: 'a', tokens: null, ids: [7] }]);
  });
});

describe('tokens of which nothing is told', () => {
  const written = (text: string, count: number): Chunk => ({ ...chunkOf(text), written: count });

  it.each([false, true])(
    'text of which llama.cpp describes the last token alone has none; text may lag: %j',
    (lags) => {
      const chunks = [
        written('First⇐First', 1),
        written(' it is⇐ it is', 3),
        written(' so⇐ so', 4),
        written('🦙⇐🦙', 7),
        written('.⇐.', 8),
      ];
      expect(short(aligned(chunks, lags))).toEqual(['First⇐First', ' it is', ' so⇐ so', '🦙', '.⇐.']);
    },
  );

  it('tokens without text, such as the mark that ends a reasoning, take nothing from the next, if that is told twice', () => {
    const the = (id: number, count: number): Chunk => ({
      text: 'The',
      tokens: [token('The', { id, topLogprobs: [{ id: 5, text: 'The', logprob: -1 }] })],
      written: count,
    });
    expect(short(aligned([the(5, 6)]))).toEqual(['?The⇐The']);
    expect(short(aligned([the(6, 6)]))).toEqual(['The']);
    expect(short(aligned([the(5, 1)]))).toEqual(['The⇐The']);
  });

  it('a server that says how many it has written may describe each', () => {
    expect(short(aligned([written('⇐', 1), written('First it⇐First it', 2)]))).toEqual([
      'First it⇐·First it',
    ]);
  });
});

describe('characters of several tokens', () => {
  const all = [...Buffer.from('😀')];
  const parts = (text: string): UpstreamToken[] =>
    [all.slice(0, 1), all.slice(1, 3), all.slice(3)].map((own) => token(text, { bytes: own }));

  it.each([
    ['no text of their own', parts('')],
    ['replacement characters', parts('\uFFFD')],
  ])('belong to the last of them by their bytes: %s', (_, tokens) => {
    const [first, second, last] = tokens.map((each) => [each]);
    const chunks = ['a⇐a', { tokens: first! }, { tokens: second! }, { text: '😀', tokens: last! }, 'b⇐b'];
    expect(short(aligned(chunks))).toEqual(['a⇐a', '😀⇐··😀', 'b⇐b']);
  });

  it('that never end are no text', () => {
    expect(short(aligned(['a⇐a', { tokens: parts('').slice(0, 1) }]))).toEqual(['a⇐a']);
  });
});

describe('tokens of reasoning and of tool calls', () => {
  const [cat, dog] = [0x90b1, 0x90b6].map((end) => bytes(end >> 8, end & 0xff));
  const begun = bytes(0xf0, 0x9f);
  const thought = (text: string): WrittenPart[] => [{ kind: 'reasoning', text }];

  it.each<[string, readonly Chunk[], readonly string[], string?]>([
    ['reasoning, then text', ['R:Hm⇐Hm', 'Yes⇐Yes'], ['⇐R:Hm', 'Yes⇐Yes']],
    [
      'marks that are in no field',
      ['⇐<think>', 'R:Hm⇐Hm', '⇐</think>', 'Yes⇐Yes', '⇐<|end|>'],
      ['⇐R:<think>·R:Hm', '⇐R:</think>', 'Yes⇐Yes'],
      'stop',
    ],
    [
      'white space that a server leaves out after a reasoning',
      ['R:Hm⇐Hm', '⇐</think>', '⇐\n\n', 'Yes⇐Yes'],
      ['⇐R:Hm', '⇐R:</think>·R:\n\n', 'Yes⇐Yes'],
    ],
    [
      'a token that ends a reasoning and begins the text',
      ['R:Hm⇐Hm', '⇐</·think', '\n⇐>\n', 'Yes⇐Yes'],
      ['⇐R:Hm', '⇐R:</·R:think', '\n⇐\n', 'Yes⇐Yes'],
    ],
    [
      'a chunk of many tokens',
      ['R:Hm so+ Yes⇐Hm· so·</think>· Yes·<call>', 'C0⇐{'],
      ['⇐R:Hm·R: so·R:</think>', ' Yes⇐ Yes', '⇐C0:<call>·C0:{'],
    ],
    ['text and a call in one chunk', ['Yes+C0⇐Yes·<call>·{}'], ['Yes⇐Yes', '⇐C0:<call>·C0:{}']],
    [
      'a text that stands in the call and in the reasoning, too',
      ['R:a+a+C0⇐a·</think>·a·<call>·a'],
      ['⇐R:a·R:</think>', 'a⇐a', '⇐C0:<call>·C0:a'],
    ],
    [
      'white space before a mark that is followed by the same',
      ['\n⇐\n·<call>·\n', 'C0⇐{}'],
      ['\n⇐\n', '⇐C0:<call>·C0:\n·C0:{}'],
    ],
    [
      'text that was held back, as it might have begun a call',
      ['R:Hm⇐Hm', '⇐</think>', '⇐<', '<b⇐b'],
      ['⇐R:Hm', '⇐R:</think>', '<b⇐<·b'],
    ],
    [
      'reasoning and a call in one chunk',
      ['R:Hm+C0⇐<think>·Hm·</think>·{}'],
      ['⇐R:<think>·R:Hm', '⇐C0:</think>·C0:{}'],
    ],
    [
      'a call that is told late and in pieces, with the marks around it',
      ['Yes⇐Yes', '⇐<call>', '⇐{"name":', 'C0⇐"f"', 'C0⇐{"a', 'C0⇐":1}', '⇐</call>', '⇐<|end|>'],
      ['Yes⇐Yes', '⇐C0:<call>·C0:{"name":·C0:"f"', '⇐C0:{"a', '⇐C0:":1}', '⇐C0:</call>'],
      'tool_calls',
    ],
    [
      'two calls, one after the other',
      ['C0⇐<call>', 'C0⇐{}', '⇐</call>', '⇐<call>', 'C1⇐{}'],
      ['⇐C0:<call>', '⇐C0:{}', '⇐C1:</call>·C1:<call>·C1:{}'],
    ],
    [
      'what a server tells last of a call, with the token that ends the answer',
      ['C0⇐{', '⇐}', 'C0⇐<|end|>'],
      ['⇐C0:{', '⇐C0:}'],
      'tool_calls',
    ],
    [
      'a part without a token of its own',
      ['⇐{}', { ids: [], parts: [{ kind: 'tool_calls', text: '', call: 0 }] }],
      ['⇐C0:{}'],
    ],
    [
      'a character of several tokens',
      [
        'R:⇐Hm',
        { parts: thought('🐱'), tokens: [begun, cat!] },
        { tokens: [begun] },
        { text: '🐶', tokens: [dog!] },
      ],
      ['⇐R:Hm', '⇐R:·R:🐱', '🐶⇐·🐶'],
    ],
    [
      'a character that is cut by the end of a chunk',
      [
        { parts: thought('Hm'), tokens: [token('Hm'), begun] },
        { parts: thought('🐱'), tokens: [cat!] },
      ],
      ['⇐R:Hm', '⇐R:·R:🐱'],
    ],
    [
      'a character of the text that is cut by the end of a chunk',
      [{ text: 'Yes', tokens: [token('Yes'), begun] }, { text: '🐱', tokens: [cat!] }, 'C0⇐{}'],
      ['Yes⇐Yes', '🐱⇐·🐱', '⇐C0:{}'],
    ],
    ['a mark within the text, which has no text', ['Yes⇐Yes', '⇐<mark>', 'No⇐No'], ['Yes⇐Yes', '⇐', 'No⇐No']],
    [
      'a mark within the text after a reasoning',
      ['R:Hm⇐Hm', 'Yes⇐Yes', '⇐<mark>', 'No⇐No'],
      ['⇐R:Hm', 'Yes⇐Yes', '⇐', 'No⇐No'],
    ],
    [
      'tokens that are told up to where the length ends them',
      ['R:Hm⇐Hm', '⇐</think>'],
      ['⇐R:Hm', '⇐R:</think>'],
      'length',
    ],
  ])('%s', (_, chunks, expected, finishReason) => {
    const last = { ...chunkOf(chunks.at(-1)!), finishReason: finishReason ?? null };
    const pieces = aligned([...chunks.slice(0, -1), last]);
    expect(short(pieces)).toEqual(expected);
    expect(textOf(pieces)).toBe(chunks.map((chunk) => chunkOf(chunk).text ?? '').join(''));
    for (const { text, tokens, spelt } of pieces) {
      expect(tokens?.map((each) => (each.part ? '' : each.text)).join('')).toBe(text);
      if (spelt === undefined) expect(tokens?.some(({ part }) => part)).toBe(false);
    }
  });

  const twice = { ...token('Yes'), topLogprobs: [{ ...token('Yes'), logprob: -1 }] };
  it.each<[string, readonly Chunk[], readonly string[]]>([
    ['no tokens of a part', ['R:Hm', 'Yes⇐Yes'], ['?', 'Yes⇐Yes']],
    ['ids alone', [{ parts: thought('Hm'), ids: [7] }, 'Yes⇐Yes'], ['?', 'Yes⇐Yes']],
    [
      'fewer tokens than were written, as llama.cpp tells',
      [
        { ...chunkOf('⇐<'), written: 1 },
        { ...chunkOf('R:Hm⇐Hm'), written: 4 },
        { ...chunkOf('R: so⇐ so'), written: 5 },
        { text: 'Yes', tokens: [twice], written: 8 },
      ],
      ['?', '⇐R: so', '?Yes⇐Yes'],
    ],
    [
      'fewer marks than were written',
      [
        { ...chunkOf('⇐<'), written: 3 },
        { ids: [] },
        { ...chunkOf('R:Hm⇐Hm'), written: 4 },
        { ...chunkOf('R: so⇐ so'), written: 5 },
      ],
      ['?', '⇐R: so'],
    ],
    [
      'log-probabilities of another text than the reasoning',
      [{ parts: thought('Hm so'), tokens: [token('so', { id: null })] }],
      ['?'],
    ],
    ['tokens that are not those of the text', ['Yes+C0⇐No'], ['?Yes']],
    ['a part that has no name', [{ parts: [{ kind: 'refusal', text: 'No' }], tokens: [token('No')] }], ['?']],
  ])('are not told: %s', (_name, chunks, expected) => {
    const pieces = aligned(chunks);
    expect(short(pieces)).toEqual(expected);
    expect(textOf(pieces)).toBe(chunks.map((chunk) => chunkOf(chunk).text ?? '').join(''));
  });

  it('are not told apart where a chunk tells of a reasoning and not what it says', () => {
    expect(short(aligned(['R:+C0⇐{·}']))).toEqual(['⇐C0:{·C0:}']);
  });

  it('are looked for in long texts that repeat themselves', () => {
    const half = 'a'.repeat(150_000);
    const text = `${half}b${half}`;
    const tokens = Array.from({ length: 10 }, () => token('a'.repeat(60_000)));
    const from = process.cpuUsage();
    expect(textOf(aligned([{ text, tokens }]))).toBe(text);
    const call = { kind: 'tool_calls', text: '', call: 0 } as const;
    expect(textOf(aligned([{ parts: [...thought(text), call], tokens }]))).toBe('');
    const { user } = process.cpuUsage(from);
    // What compares each place with each takes a minute.
    expect(user / 1e6).toBeLessThan(1);
  });

  it('are not told apart where they are too many for what they are of', () => {
    const pieces = aligned([...Array.from({ length: 17_000 }, () => '⇐a'), 'R:aa⇐a']);
    expect(pieces.some(({ hidden }) => hidden)).toBe(true);
    const rest = '·c'.repeat(300);
    expect(short(aligned(['⇐a', `b⇐b${rest}`, 'd⇐d']))).toEqual(['?b', 'd⇐d']);
  });

  it('are not told apart from those of the text where that lags behind them', () => {
    expect(short(aligned(['R:Hm⇐Hm', 'Yes⇐Yes'], true))).toEqual(['?', 'Yes']);
  });
});

/** What a token is of: a mark is in no field. */
type Written = { readonly of: 'thought' | 'mark' | 'text' | 'call'; readonly text: string };

const some = (of: Written['of']) =>
  fc.array(
    fc.constantFrom('a', 'b', '\n', ' a', '<').map((text): Written => ({ of, text })),
    { maxLength: 4 },
  );

it('no token is lost or out of its order, and no text, however a server cuts its chunks', () => {
  const order = ['mark', 'thought', 'mark', 'text', 'mark', 'call'] as const;
  const cuts = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 24, maxLength: 24 });
  fc.assert(
    fc.property(fc.tuple(...order.map(some)), cuts, (answer, sizes) => {
      const all = answer.flat();
      const of = (kind: Written['of'], own: readonly Written[]): string =>
        own.map((each) => (each.of === kind ? each.text : '')).join('');
      let at = 0;
      const chunks = sizes.flatMap((size): Chunk[] => {
        const own = all.slice(at, at + size);
        const first = at;
        at += size;
        if (own.length === 0) return [];
        const reasoning = of('thought', own);
        const calls = own.some((each) => each.of === 'call');
        return [
          {
            text: of('text', own),
            parts: [
              ...(reasoning === '' ? [] : [{ kind: 'reasoning', text: reasoning } as const]),
              ...(calls ? [{ kind: 'tool_calls', text: '', call: 0 } as const] : []),
            ],
            tokens: own.map(({ text }, i) => token(text, { id: first + i })),
          },
        ];
      });
      const pieces = aligned(chunks);
      expect(textOf(pieces)).toBe(of('text', all));
      expect(pieces.some(({ hidden }) => hidden)).toBe(false);
      const tokens = pieces.flatMap((piece) => piece.tokens ?? []);
      expect(tokens.map(({ id }) => id)).toEqual(all.map((_, i) => i));
      for (const { tokens: own, text, spelt } of pieces) {
        if (own?.every(({ part }) => !part)) expect(own.map((each) => each.text).join('')).toBe(text);
        const raw = own?.map(({ id }) => all[id ?? 0]!.text).join('');
        expect(spelt ?? text).toBe(raw);
      }
    }),
    { numRuns: 2000 },
  );
});
