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

/** A chunk: what it says of the text, what beside it, and its tokens. */
interface Chunk {
  readonly text?: string;
  readonly thought?: string;
  readonly calls?: readonly number[];
  readonly kind?: WrittenPart['kind'];
  readonly tokens?: readonly (string | UpstreamToken)[] | null;
  readonly ids?: readonly number[];
  readonly finish?: string;
  readonly written?: number;
}

function aligned(chunks: readonly Chunk[], lags = false): UpstreamPiece[] {
  const aligner = new TokenAligner({ lags });
  const pieces = chunks.flatMap(({ text = '', thought, calls = [], kind, tokens = [], ...rest }) =>
    aligner.push({
      text,
      tokens: tokens?.length ? tokens.map((each) => (typeof each === 'string' ? token(each) : each)) : null,
      ids: rest.ids ?? (tokens?.length === 0 ? [] : null),
      parts: [
        ...(thought === undefined ? [] : [{ kind: 'reasoning', text: thought } as const]),
        ...calls.map((call) => ({ kind: 'tool_calls', text: '', call }) as const),
        ...(kind ? [{ kind, text: 'No' }] : []),
      ],
      written: rest.written ?? null,
      finishReason: rest.finish ?? null,
    }),
  );
  return [...pieces, ...aligner.end()];
}

const NAMES = { reasoning: 'R', tool_calls: 'C' } as const;

/** Each token as its part and its text: `R:Hm`, `C0:{`, `:Yes`; a text without tokens as itself, `?` where tokens are not told. */
const short = (pieces: readonly UpstreamPiece[]): string[] =>
  pieces.flatMap(({ text, tokens, hidden }) => [
    ...(hidden ? ['?'] : []),
    ...(tokens?.map((each) => `${each.part ? NAMES[each.part] : ''}${each.call ?? ''}:${each.text}`) ??
      (text === '' ? [] : [text])),
  ]);

/** No text is lost, and none is added. */
const textOf = (pieces: readonly UpstreamPiece[]): string => pieces.map(({ text }) => text).join('');

const bytes = (...own: number[]): UpstreamToken => token('\uFFFD', { bytes: own });

describe('tokens of reasoning and of tool calls', () => {
  it.each<[string, readonly Chunk[], readonly string[]]>([
    [
      'reasoning, then text',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { text: 'Yes', tokens: ['Yes'] },
      ],
      ['R:Hm', ':Yes'],
    ],
    [
      'marks that are in no field',
      [
        { tokens: ['<think>'] },
        { thought: 'Hm', tokens: ['Hm'] },
        { tokens: ['</think>'] },
        { text: 'Yes', tokens: ['Yes'] },
        { tokens: ['<|end|>'], finish: 'stop' },
      ],
      ['R:<think>', 'R:Hm', 'R:</think>', ':Yes'],
    ],
    [
      'white space that a server leaves out after a reasoning',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { tokens: ['</think>'] },
        { tokens: ['\n\n'] },
        { text: 'Yes', tokens: ['Yes'] },
      ],
      ['R:Hm', 'R:</think>', 'R:\n\n', ':Yes'],
    ],
    [
      'a token that ends a reasoning and begins the text',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { tokens: ['</', 'think'] },
        { text: '\n', tokens: ['>\n'] },
        { text: 'Yes', tokens: ['Yes'] },
      ],
      ['R:Hm', 'R:</', 'R:think', ':\n', ':Yes'],
    ],
    [
      'a chunk of many tokens',
      [
        { thought: 'Hm so', text: ' Yes', tokens: ['Hm', ' so', '</think>', ' Yes', '<call>'] },
        { calls: [0], tokens: ['{'] },
      ],
      ['R:Hm', 'R: so', 'R:</think>', ': Yes', 'C0:<call>', 'C0:{'],
    ],
    [
      'text and a call in one chunk',
      [{ text: 'Yes', calls: [0], tokens: ['Yes', '<call>', '{}'] }],
      [':Yes', 'C0:<call>', 'C0:{}'],
    ],
    [
      'a text that stands in the call and in the reasoning, too',
      [{ thought: 'a', text: 'a', calls: [0], tokens: ['a', '</think>', 'a', '<call>', 'a'] }],
      ['R:a', 'R:</think>', ':a', 'C0:<call>', 'C0:a'],
    ],
    [
      'white space before a mark that is followed by the same',
      [
        { text: '\n', tokens: ['\n', '<call>', '\n'] },
        { calls: [0], tokens: ['{}'] },
      ],
      [':\n', 'C0:<call>', 'C0:\n', 'C0:{}'],
    ],
    [
      'text that was held back, as it might have begun a call',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { tokens: ['</think>'] },
        { tokens: ['<'] },
        { text: '<b', tokens: ['b'] },
      ],
      ['R:Hm', 'R:</think>', ':<', ':b'],
    ],
    [
      'reasoning and a call in one chunk',
      [{ thought: 'Hm', calls: [0], tokens: ['<think>', 'Hm', '</think>', '{}'] }],
      ['R:<think>', 'R:Hm', 'C0:</think>', 'C0:{}'],
    ],
    [
      'a call that is told late and in pieces, with the marks around it',
      [
        { text: 'Yes', tokens: ['Yes'] },
        { tokens: ['<call>'] },
        { tokens: ['{"name":'] },
        { calls: [0], tokens: ['"f"'] },
        { calls: [0], tokens: ['{"a'] },
        { calls: [0], tokens: ['":1}'] },
        { tokens: ['</call>'] },
        { tokens: ['<|end|>'], finish: 'tool_calls' },
      ],
      [':Yes', 'C0:<call>', 'C0:{"name":', 'C0:"f"', 'C0:{"a', 'C0:":1}', 'C0:</call>'],
    ],
    [
      'two calls, one after the other',
      [
        { calls: [0], tokens: ['<call>'] },
        { calls: [0], tokens: ['{}'] },
        { tokens: ['</call>'] },
        { tokens: ['<call>'] },
        { calls: [1], tokens: ['{}'] },
      ],
      ['C0:<call>', 'C0:{}', 'C1:</call>', 'C1:<call>', 'C1:{}'],
    ],
    [
      'what a server tells last of a call, with the token that ends the answer',
      [
        { calls: [0], tokens: ['{'] },
        { tokens: ['}'] },
        { calls: [0], tokens: ['<|end|>'], finish: 'tool_calls' },
      ],
      ['C0:{', 'C0:}'],
    ],
    ['a part without a token of its own', [{ tokens: ['{}'] }, { calls: [0], ids: [] }], ['C0:{}']],
    [
      'a character of several tokens',
      [
        { thought: '', tokens: ['Hm'] },
        { thought: '🐱', tokens: [bytes(0xf0, 0x9f), bytes(0x90, 0xb1)] },
        { tokens: [bytes(0xf0, 0x9f)] },
        { text: '🐶', tokens: [bytes(0x90, 0xb6)] },
      ],
      ['R:Hm', 'R:', 'R:🐱', ':', ':🐶'],
    ],
    [
      'a character that is cut by the end of a chunk',
      [
        { thought: 'Hm', tokens: ['Hm', bytes(0xf0, 0x9f)] },
        { thought: '🐱', tokens: [bytes(0x90, 0xb1)] },
      ],
      ['R:Hm', 'R:', 'R:🐱'],
    ],
    [
      'a character of the text that is cut by the end of a chunk',
      [
        { text: 'Yes', tokens: ['Yes', bytes(0xf0, 0x9f)] },
        { text: '🐱', tokens: [bytes(0x90, 0xb1)] },
        { calls: [0], tokens: ['{}'] },
      ],
      [':Yes', ':', ':🐱', 'C0:{}'],
    ],
    [
      'a mark within the text, which has no text',
      [{ text: 'Yes', tokens: ['Yes'] }, { tokens: ['<mark>'] }, { text: 'No', tokens: ['No'] }],
      [':Yes', ':', ':No'],
    ],
    [
      'a mark within the text after a reasoning',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { text: 'Yes', tokens: ['Yes'] },
        { tokens: ['<mark>'] },
        { text: 'No', tokens: ['No'] },
      ],
      ['R:Hm', ':Yes', ':', ':No'],
    ],
    [
      'tokens that are told up to where the length ends them',
      [
        { thought: 'Hm', tokens: ['Hm'] },
        { tokens: ['</think>'], finish: 'length' },
      ],
      ['R:Hm', 'R:</think>'],
    ],
  ])('%s', (_name, chunks, expected) => {
    const pieces = aligned(chunks);
    expect(short(pieces)).toEqual(expected);
    expect(textOf(pieces)).toBe(chunks.map(({ text = '' }) => text).join(''));
    for (const { text, tokens, spelt } of pieces) {
      const own = tokens?.map((each) => (each.part ? '' : each.text)).join('');
      expect(own).toBe(text);
      if (spelt === undefined) expect(tokens?.some(({ part }) => part)).toBe(false);
    }
  });

  it.each<[string, readonly Chunk[], readonly string[]]>([
    [
      'no tokens of a part',
      [
        { thought: 'Hm', tokens: null },
        { text: 'Yes', tokens: ['Yes'] },
      ],
      ['?', ':Yes'],
    ],
    [
      'ids alone',
      [
        { thought: 'Hm', tokens: null, ids: [7] },
        { text: 'Yes', tokens: ['Yes'] },
      ],
      ['?', ':Yes'],
    ],
    [
      'fewer tokens than were written, as llama.cpp tells',
      [
        { tokens: ['<'], written: 1 },
        { thought: 'Hm', tokens: ['Hm'], written: 4 },
        { thought: ' so', tokens: [' so'], written: 5 },
        {
          text: 'Yes',
          tokens: [{ ...token('Yes'), topLogprobs: [{ ...token('Yes'), logprob: -1 }] }],
          written: 8,
        },
      ],
      ['?', 'R: so', '?', ':Yes'],
    ],
    [
      'fewer marks than were written',
      [
        { tokens: ['<'], written: 3 },
        { tokens: null, ids: [] },
        { thought: 'Hm', tokens: ['Hm'], written: 4 },
        { thought: ' so', tokens: [' so'], written: 5 },
      ],
      ['?', 'R: so'],
    ],
    [
      'log-probabilities of another text than the reasoning',
      [{ thought: 'Hm so', tokens: [token('so', { id: null })] }],
      ['?'],
    ],
    ['tokens that are not those of the text', [{ text: 'Yes', calls: [0], tokens: ['No'] }], ['?', 'Yes']],
    ['a part that has no name', [{ kind: 'refusal', tokens: ['No'] }], ['?']],
  ])('are not told: %s', (_name, chunks, expected) => {
    const pieces = aligned(chunks);
    expect(short(pieces)).toEqual(expected);
    expect(textOf(pieces)).toBe(chunks.map(({ text = '' }) => text).join(''));
  });

  it('are not told apart where a chunk tells of a reasoning and not what it says', () => {
    const pieces = aligned([{ thought: '', calls: [0], tokens: ['{', '}'] }]);
    expect(short(pieces)).toEqual(['C0:{', 'C0:}']);
  });

  it('are looked for in long texts that repeat themselves', () => {
    const half = 'a'.repeat(150_000);
    const text = `${half}b${half}`;
    const tokens = Array.from({ length: 10 }, () => token('a'.repeat(60_000)));
    const from = process.cpuUsage();
    expect(textOf(aligned([{ text, tokens }]))).toBe(text);
    expect(textOf(aligned([{ thought: text, tokens, calls: [0] }]))).toBe('');
    const { user } = process.cpuUsage(from);
    // What compares each place with each takes a minute.
    expect(user / 1e6).toBeLessThan(1);
  });

  it('are not told apart where they are too many for what they are of', () => {
    const many = Array.from({ length: 17_000 }, () => ({ tokens: ['a'] }));
    const pieces = aligned([...many, { thought: 'aa', tokens: ['a'] }]);
    expect(pieces.some(({ hidden }) => hidden)).toBe(true);
    const rest = Array.from({ length: 300 }, () => 'c');
    const left = aligned([
      { tokens: ['a'] },
      { text: 'b', tokens: ['b', ...rest] },
      { text: 'd', tokens: ['d'] },
    ]);
    expect(short(left)).toEqual(['?', 'b', ':d']);
  });

  it('are not told apart from those of the text where that lags behind them', () => {
    const chunks = [
      { thought: 'Hm', tokens: ['Hm'] },
      { text: 'Yes', tokens: ['Yes'] },
    ];
    expect(short(aligned(chunks, true))).toEqual(['?', 'Yes']);
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
  const answers = fc.tuple(
    some('mark'),
    some('thought'),
    some('mark'),
    some('text'),
    some('mark'),
    some('call'),
  );
  const cuts = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 24, maxLength: 24 });
  fc.assert(
    fc.property(answers, cuts, (answer, sizes) => {
      const all = answer.flat();
      const of = (kind: Written['of'], own: readonly Written[]): string =>
        own.map((each) => (each.of === kind ? each.text : '')).join('');
      let at = 0;
      const chunks = sizes.flatMap((size): Chunk[] => {
        const own = all.slice(at, at + size);
        const first = at;
        at += size;
        if (own.length === 0) return [];
        const thought = of('thought', own);
        return [
          {
            text: of('text', own),
            ...(thought !== '' && { thought }),
            ...(own.some((each) => each.of === 'call') && { calls: [0] }),
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
