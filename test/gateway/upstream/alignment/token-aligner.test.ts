import { describe, expect, it } from 'vitest';
import { TokenAligner } from '#gateway/upstream/alignment/token-aligner.js';
import type { UpstreamPiece, UpstreamToken } from '#gateway/upstream/upstream.js';

const token = (text: string, fields: Partial<UpstreamToken> = {}): UpstreamToken => ({
  id: null,
  text,
  logprob: -1,
  topLogprobs: [],
  ...fields,
});

/** Chunks as texts with the texts of their tokens, or tokens; `null` for none described. */
type Part = readonly [
  text: string,
  tokens: readonly (string | UpstreamToken)[] | null,
  ids?: readonly number[] | null,
  written?: number,
];

function aligned(parts: readonly Part[], lags = false): UpstreamPiece[] {
  const aligner = new TokenAligner({ lags });
  const pieces = parts.flatMap(([text, tokens, ids = null, written = null], i) =>
    aligner.push({
      text,
      tokens: tokens?.map((each) => (typeof each === 'string' ? token(each) : each)) ?? null,
      ids,
      parts: [],
      written,
      finishReason: i === parts.length - 1 ? 'stop' : null,
    }),
  );
  return [...pieces, ...aligner.end()];
}

/** `[text of the piece, texts of its tokens or null]` */
const short = (pieces: readonly UpstreamPiece[]) =>
  pieces.map(({ text, tokens }) => [text, tokens?.map((each) => each.text) ?? null]);

describe('tokens and text', () => {
  it.each<[string, readonly Part[], unknown]>([
    [
      'one by one',
      [
        ['a', ['a']],
        [' b', [' b']],
      ],
      [
        ['a', ['a']],
        [' b', [' b']],
      ],
    ],
    ['several in a chunk', [['a b', ['a', ' b']]], [['a b', ['a', ' b']]]],
    [
      'none described',
      [
        ['a', null],
        [' b', [' b']],
      ],
      [
        ['a', null],
        [' b', [' b']],
      ],
    ],
    [
      'the token that ends the answer has no text',
      [
        ['a', ['a']],
        ['', ['<|end|>']],
      ],
      [['a', ['a']]],
    ],
    [
      'special tokens between have none',
      [
        ['a', ['a']],
        ['', ['<think>']],
        [' b', [' b']],
      ],
      [
        ['a', ['a']],
        ['', ['']],
        [' b', [' b']],
      ],
    ],
    [
      'another text',
      [
        ['a', ['x']],
        [' b', [' b']],
      ],
      [
        ['a', null],
        [' b', [' b']],
      ],
    ],
    [
      'more tokens than text, of which the last may end the answer',
      [['a', ['a', ' b', ' c']]],
      [
        ['a', ['a']],
        ['', ['']],
      ],
    ],
    [
      'a special token after the text of a chunk',
      [
        ['a', ['a', '<mark>']],
        [' b', [' b']],
      ],
      [
        ['a', ['a']],
        ['', ['']],
        [' b', [' b']],
      ],
    ],
    [
      'less tokens than text',
      [
        ['a b c', ['a', ' b']],
        [' d', [' d']],
      ],
      [
        ['a b', ['a', ' b']],
        [' c', null],
        [' d', [' d']],
      ],
    ],
  ])('%s', (_, parts, expected) => {
    expect(short(aligned(parts))).toEqual(expected);
  });

  it('text without tokens is not held back', () => {
    const aligner = new TokenAligner({ lags: false });
    const rest = { ids: null, parts: [], written: null, finishReason: null };
    expect(short(aligner.push({ text: '', tokens: [token('')], ...rest }))).toEqual([]);
    expect(short(aligner.push({ text: 'a', tokens: null, ...rest }))).toEqual([['a', null]]);
  });

  it('a token that the server swallows gives its log-probability to no other of the same text', () => {
    const parts: Part[] = [
      ['', [token(' ha', { logprob: -9 })]],
      [' ha', [token(' ha', { logprob: -1 })]],
      [' ha', [token(' ha', { logprob: -2 })]],
    ];
    const logprobs = aligned(parts).flatMap(({ tokens }) => tokens?.map(({ logprob }) => logprob));
    expect(logprobs).toEqual([-9, -1, -2]);
    expect(short(aligned(parts)).map(([text]) => text)).toEqual(['', ' ha', ' ha']);
  });

  it('a text that lags behind its tokens, as where stop strings are looked for', () => {
    const parts: Part[] = [
      ['', ['Hello']],
      ['Hel', [' wor']],
      ['lo w', ['ld']],
      ['orld', null],
    ];
    expect(short(aligned(parts, true))).toEqual([
      ['Hello', ['Hello']],
      [' world', [' wor', 'ld']],
    ]);
  });

  it('and what a stop string cut off of a token has no log-probability', () => {
    expect(
      short(
        aligned(
          [
            ['', ['Hello']],
            ['Hel', null],
          ],
          true,
        ),
      ),
    ).toEqual([['Hel', null]]);
  });

  it('where text may lag, a part that fits by itself may be that of earlier tokens', () => {
    const parts: Part[] = [
      ['', ['<mark>']],
      [' ha', [' ha']],
    ];
    expect(short(aligned(parts, true))).toEqual([[' ha', null]]);
    expect(short(aligned(parts))).toEqual([
      ['', ['']],
      [' ha', [' ha']],
    ]);
  });

  it('once a lagging text does not fit, nothing later is trusted, though it looks alike', () => {
    const parts: Part[] = [
      [' ha', [' xx']],
      [' ha', [' ha']],
      [' ha', [' ha']],
    ];
    expect(short(aligned(parts, true))).toEqual([
      [' ha', null],
      [' ha', null],
      [' ha', null],
    ]);
  });
});

describe('tokens of which nothing is told', () => {
  it.each([false, true])(
    'text of which llama.cpp describes the last token alone has none; text may lag: %j',
    (lags) => {
      const parts: Part[] = [
        ['First', ['First'], null, 1],
        [' it is', [' it is'], null, 3],
        [' so', [' so'], null, 4],
        ['🦙', ['🦙'], null, 7],
        ['.', ['.'], null, 8],
      ];
      expect(short(aligned(parts, lags))).toEqual([
        ['First', ['First']],
        [' it is', null],
        [' so', [' so']],
        ['🦙', null],
        ['.', ['.']],
      ]);
    },
  );

  it('tokens without text, such as the mark that ends a reasoning, take nothing from the next, if that is told twice', () => {
    const the = (fields: Partial<UpstreamToken>) =>
      token('The', { id: 5, topLogprobs: [{ id: 5, text: 'The', logprob: -1 }], ...fields });
    expect(short(aligned([['The', [the({})], null, 6]]))).toEqual([['The', ['The']]]);
    expect(short(aligned([['The', [the({ id: 6 })], null, 6]]))).toEqual([['The', null]]);
    expect(short(aligned([['The', [the({ text: 'The' })], null, 1]]))).toEqual([['The', ['The']]]);
  });

  it('a server that says how many it has written may describe each', () => {
    const parts: Part[] = [
      ['', [token('', { id: 1 })], null, 1],
      ['First it', [token('First it', { id: 2 })], null, 2],
    ];
    expect(aligned(parts)).toEqual([
      { text: 'First it', tokens: [token('', { id: 1 }), token('First it', { id: 2 })], ids: null },
    ]);
  });
});

describe('characters of several tokens', () => {
  const bytes = [...Buffer.from('😀')];
  const parts = (texts: readonly [string, string, string]): UpstreamToken[] => [
    token(texts[0], { bytes: bytes.slice(0, 1) }),
    token(texts[1], { bytes: bytes.slice(1, 3) }),
    token(texts[2], { bytes: bytes.slice(3) }),
  ];

  it.each([
    ['no text of their own', parts(['', '', ''])],
    ['replacement characters', parts(['\uFFFD', '\uFFFD', '\uFFFD'])],
  ])('belong to the last of them by their bytes: %s', (_, tokens) => {
    const chunks: Part[] = [
      ['a', ['a']],
      ['', [tokens[0]!]],
      ['', [tokens[1]!]],
      ['😀', [tokens[2]!]],
      ['b', ['b']],
    ];
    expect(short(aligned(chunks))).toEqual([
      ['a', ['a']],
      ['😀', ['', '', '😀']],
      ['b', ['b']],
    ]);
  });

  it('that never end are no text', () => {
    expect(
      short(
        aligned([
          ['a', ['a']],
          ['', [parts(['', '', ''])[0]!]],
        ]),
      ),
    ).toEqual([['a', ['a']]]);
  });
});

describe('ids without texts', () => {
  it('stay with the text that they came with', () => {
    expect(
      aligned([
        ['a b', null, [7, 8]],
        ['', null, [9]],
      ]),
    ).toEqual([
      { text: 'a b', tokens: null, ids: [7, 8] },
      { text: '', tokens: null, ids: [9] },
    ]);
  });

  it('are kept where texts do not fit', () => {
    expect(aligned([['a', [token('x', { id: 7 })]]])).toEqual([{ text: 'a', tokens: null, ids: [7] }]);
  });
});
