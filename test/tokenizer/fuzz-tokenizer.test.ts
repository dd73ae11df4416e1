import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { openTokenizer, Tokenizer } from '#src/tokenizer/tokenizer.js';
import { FIXTURES, fixture, REASONER, sentencePiece } from '../support/graphs.js';
import { mutated, orRefuse, runs } from '../support/mutations.js';

const FILE = 'folder/tokenizer.json';
const pieces = new Tokenizer(sentencePiece(), {}, FILE);

const tokenizers = [
  ['the embedded model', await openTokenizer(REASONER, { vocabSize: 1024 })],
  ...(await Promise.all(
    FIXTURES.map(async (name) => [name, await openTokenizer(fixture(name), { vocabSize: 640 })] as const),
  )),
  ['SentencePiece', pieces],
] as const;

/** Text of every kind: words, any code points, halves of surrogate pairs, special tokens, combining marks. */
const text = fc
  .array(
    fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('\ud800', '\udc00', '\ufeff', '\0', '\r\n', '  ', 'e\u0301', '👩‍👩‍👧'),
      fc.constantFrom(
        ...'<|im_end|> <|im_ </s> 12 Ġ ▁ <0x41> __proto__ constructor toString'.split(' '),
        'hello ',
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

function checkIds(tokenizer: Tokenizer, written: string): number[] {
  const ids = tokenizer.encode(written);
  expect(ids.filter((id) => !(Number.isInteger(id) && id >= 0 && id < tokenizer.size))).toEqual([]);
  return ids;
}

/** Halves of surrogate pairs become U+FFFD. */
const wellFormed = (written: string) =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(written));

/** One at a time the ids give the text that they give together, whatever they are. */
function checkDecoding(tokenizer: Tokenizer, ids: readonly number[]): void {
  const detokenizer = new Detokenizer(tokenizer);
  const kinds = new Set(['boolean', 'string']);
  for (let round = 0; round < 2; round++) {
    let streamed = '';
    for (const id of ids) {
      streamed += detokenizer.push(id);
      kinds.add(typeof detokenizer.pending).add(typeof tokenizer.tokenText(id));
    }
    expect(streamed + detokenizer.flush()).toBe(tokenizer.decode(ids)); // and again: the next text is a new one
  }
  expect(kinds.size).toBe(2);
}

describe.each(tokenizers)('%s', (_name, tokenizer) => {
  it('gives every text ids that exist, and from them the text', () => {
    fc.assert(
      fc.property(text, (written) => {
        const ids = checkIds(tokenizer, written);
        checkDecoding(tokenizer, ids);
        // Special tokens are no text, and SentencePiece's space at the start is no space of the text.
        if (tokenizer === pieces || ids.some((id) => tokenizer.isSpecial(id))) return;
        expect(tokenizer.decode(ids)).toBe(wellFormed(written).normalize('NFC'));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('gives any ids one at a time the text that they are together', () => {
    const id = fc.oneof(
      { weight: 20, arbitrary: fc.nat(tokenizer.size - 1) },
      fc.integer(),
      fc.constantFrom(-1, tokenizer.size, 0.5, 2 ** 40, Number.NaN, Number.POSITIVE_INFINITY),
    );
    fc.assert(
      fc.property(fc.array(id, { maxLength: 40 }), (ids) => checkDecoding(tokenizer, ids)),
      { numRuns: runs(1000) },
    );
  });
});

describe('a tokenizer.json that was changed is refused, or works', () => {
  const TEXT = 'hello <s>a</s>\n € 12 __proto__';
  /** Steps that the library knows, each with what it may need wrong. */
  const TYPES = (
    'BertNormalizer Precompiled Sequence Replace NFKD Strip StripAccents Lowercase Prepend BertPreTokenizer ' +
    'Whitespace WhitespaceSplit Metaspace ByteLevel Split Punctuation Digits FixedLength Unigram WordPiece ' +
    'ByteFallback Fuse'
  ).split(' ');
  const STEPS = [
    ...TYPES,
    ...TYPES.map((type) => ({ type })),
    ...[0, -1, 0.5, 3].map((length) => ({ type: 'FixedLength', length })),
    ...['', 'l*', '(?=l)', '[^', '\\p{L}&&', '(?i:l)', '$', '[[:alpha:]]'].flatMap((pattern) => [
      { type: 'Replace', pattern: { Regex: pattern }, content: 'x' },
      { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
      { type: 'Split', pattern: { String: pattern }, behavior: 'Removed', invert: true },
    ]),
  ];

  it('in the style of SentencePiece', () => {
    fc.assert(
      fc.property(mutated(sentencePiece(), STEPS), ({ value }) => {
        const tokenizer = orRefuse('folder/', () => new Tokenizer(value, {}, FILE), true);
        if (!tokenizer) return;
        const ids = orRefuse(FILE, () => checkIds(tokenizer, TEXT), true) ?? [];
        checkDecoding(tokenizer, [...ids, 0, 1, 292, -1, 2 ** 40, Number.NaN]);
      }),
      { numRuns: runs(2000) },
    );
  });
});
