import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as Library } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type RetokenizedToken, Retokenizer } from '#src/tokenizer/retokenizer.js';
import { Tokenizer } from '#src/tokenizer/tokenizer.js';
import { FIXTURES, fixture, REASONER, sentencePiece } from '../support/graphs.js';
import { runs } from '../support/mutations.js';

const LLAMA3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };
const split = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
const sequence = (...pretokenizers: object[]) => ({ type: 'Sequence', pretokenizers });

/** Parts of words that are one token if they are encoded together: else nobody could tell how a text was cut. */
const JOINED = [
  ..."'re 'll 's l' 'X !!! !\n\n 123 7890 e\u0301 e\u0323 \u1eb9\u0301 \u0323\u0301 각 が 我们 。我 <t !<".split(
    ' ',
  ),
  ...['   ', '\n\n\n', ' \n\n', '\r\n', ' !!', ' 1', ' \u0301', ' <', '  <'],
];

const bpe = z.looseObject({
  added_tokens: z.array(z.unknown()),
  model: z.looseObject({ vocab: z.record(z.string(), z.number()), merges: z.array(z.unknown()) }),
});
const read = async (folder: string) =>
  bpe.parse(JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')));

/** The vocabulary of a tiny model and those tokens, under the rules of other families. */
async function changed(changes: object, added: object[] = []): Promise<Tokenizer> {
  const { added_tokens, model, ...json } = await read(fixture('tiny-llama'));
  const vocab = { ...model.vocab };
  const merges: [string, string][] = [];
  const parts = { added_tokens: [], normalizer: null, post_processor: null, decoder: null };
  const pre_tokenizer = { ...byteLevel, use_regex: false };
  const { pre_tokenizer: bytes } = new Library({ ...parts, model, pre_tokenizer }, {});
  for (const spelling of JOINED.flatMap((text): string[] => bytes?.pre_tokenize(text) ?? [])) {
    for (let end = 1; end < spelling.length; end++) {
      const [left, right] = [spelling.slice(0, end), spelling.slice(end, end + 1)];
      vocab[left + right] ??= 700 + Object.keys(vocab).length;
      merges.push([left, right]);
    }
  }
  const others = model.merges.map((merge) => (typeof merge === 'string' ? merge.split(' ') : merge));
  const all = { ...model, vocab, merges: [...merges, ...others] };
  const made = { ...json, model: all, ...changes, added_tokens: [...added_tokens, ...added] };
  return new Tokenizer(made, {}, 'tokenizer.json');
}

async function opened(folder: string): Promise<Tokenizer> {
  return new Tokenizer(await read(folder), {}, folder);
}

const visible = { special: false, normalized: false, lstrip: false, rstrip: false, single_word: false };
const piece = sentencePiece();

const TOKENIZERS: Readonly<Record<string, () => Promise<Tokenizer>>> = {
  ...Object.fromEntries([...FIXTURES, 'tiny-gemma2'].map((name) => [name, () => opened(fixture(name))])),
  reasoner: () => opened(REASONER),
  'composed characters, as Qwen2': () => changed({}),
  'digits in threes, as Llama 3': () =>
    changed({ normalizer: null, pre_tokenizer: sequence(split(LLAMA3), { ...byteLevel, use_regex: false }) }),
  'as GPT-2': () => changed({ normalizer: null, pre_tokenizer: { ...byteLevel, use_regex: true } }),
  'digits apart, as SmolLM': () =>
    changed({
      normalizer: null,
      pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, { ...byteLevel, use_regex: true }),
    }),
  'visible added tokens, as Qwen2.5': () =>
    changed({}, [
      { ...visible, id: 640, content: '<tool_call>' },
      { ...visible, id: 641, content: '<tool_call><tool_call>!' },
      { ...visible, id: 642, content: '</ tool>' },
    ]),
  'SentencePiece, as Llama 2': async () => new Tokenizer(piece, {}, 'tokenizer.json'),
  'Metaspace, as newer Mistral': async () =>
    new Tokenizer(
      {
        ...piece,
        normalizer: null,
        pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: false },
      },
      {},
      'tokenizer.json',
    ),
};

/** Hard parts of texts: what normalisers compose, pre-tokenizers group and added tokens begin with. */
const PARTS = [
  ..."a e he hello ll o X ² ٣٤ ½ 1 23 456 7890 . ... ! ' 's 're 'l l' - ( \" $ ＝".split(' '),
  ...'é e\u0301 \u0301 \u0323 \u0327 ﬁ Å \u212b ᄀ ᅡ ᆨ 각 が か\u3099 我们 好。 ，'.split(' '),
  ..."🎉 👩‍👩‍👧 \u200d \ufeff \ufffd ▁ ſ 'ſ < <tool _call> <tool_call> </".split(' '),
  ...[' ', '  ', '\n', '\n\n', ' \n', '\r\n', '\t', '\u00a0', '\u2003', '\u0085', ' tool>'],
];
const text = fc.array(
  fc.oneof(
    { arbitrary: fc.constantFrom(...PARTS), weight: 8 },
    { arbitrary: fc.string({ unit: 'grapheme', maxLength: 3 }), weight: 1 },
  ),
  { maxLength: 24 },
);

/** The text as it comes, and the tokens after each part of it. */
function written(
  tokenizer: Tokenizer,
  parts: readonly string[],
): { tokens: RetokenizedToken[]; counts: number[] } {
  const retokenizer = new Retokenizer(tokenizer);
  const tokens: RetokenizedToken[] = [];
  const counts = parts.map((part) => tokens.push(...retokenizer.push(part)));
  tokens.push(...retokenizer.end());
  return { tokens, counts };
}

describe.each(Object.entries(TOKENIZERS))('Retokenizer: %s', (_name, open) => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await open();
  });

  it('gives out, from whatever parts, the tokens of the whole text and all of its text', () => {
    fc.assert(
      fc.property(text, (parts) => {
        const { tokens } = written(tokenizer, parts);
        const whole = parts.join('');
        // The space that SentencePiece puts before a text is not put twice.
        const twice = tokenizer.units?.rules.prefix === 'sections' && /^[ ▁]/.test(whole);
        const bare = twice ? whole.slice(1) : whole;
        if (bare !== '') expect(tokens.map(({ id }) => id)).toEqual(tokenizer.encodePlain(bare));
        expect(tokens.map((token) => token.text).join('')).toBe(whole);
      }),
      { numRuns: runs(3000) },
    );
  });
});

describe('Retokenizer', () => {
  it('gives a word out as soon as the next has begun', async () => {
    const tokenizer = await opened(REASONER);
    const { counts } = written(tokenizer, ['Then', ' Maya', ' has', ' 1', '2', ' stones', '.\n', 'So']);
    const whole = (text: string): number => tokenizer.encode(text).length;
    expect(counts).toEqual([
      0,
      whole('Then'),
      whole('Then Maya'),
      whole('Then Maya has '),
      whole('Then Maya has 1'),
      whole('Then Maya has 12'),
      whole('Then Maya has 12 stones'),
      whole('Then Maya has 12 stones.\n'),
    ]);
  });

  it('takes the name of a special token for text', async () => {
    const tokenizer = await opened(REASONER);
    const { tokens } = written(tokenizer, ['a <|im_', 'end|> b']);
    expect(tokens.map(({ text }) => text).join('')).toBe('a <|im_end|> b');
    expect(tokens.some(({ id }) => tokenizer.isSpecial(id))).toBe(false);
    expect(tokenizer.encode('a <|im_end|> b').some((id) => tokenizer.isSpecial(id))).toBe(true);
  });

  it('keeps the text of bytes that have no token', async () => {
    const json = await read(REASONER);
    const { Ą: _, ...vocab } = json.model.vocab; // the byte 0x04
    const model = { ...json.model, vocab };
    const tokenizer = new Tokenizer({ ...json, model }, {}, 'tokenizer.json');
    for (const text of ['a\x04 b', '\x04a b']) {
      const { tokens } = written(tokenizer, Array.from(text));
      expect(tokens.map(({ id }) => id)).toEqual(tokenizer.encode('a b'));
      expect(tokens.map((token) => token.text).join('')).toBe(text);
    }
  });

  it('goes on within a text without a space of its own', async () => {
    const tokenizer = new Tokenizer(piece, {}, 'tokenizer.json');
    const on = new Retokenizer(tokenizer, true);
    const ids = [...on.push('hello'), ...on.end()].map(({ id }) => id);
    expect(ids).toEqual([tokenizer.idOf('hello')]);
    expect(tokenizer.encode('hello')).toEqual([tokenizer.idOf('▁hello')]);
  });

  it('waits for the end where it does not know the rules', async () => {
    const odd = split('\\p{N}{1,3}(?=(?:\\p{N}{3})*$)|\\P{N}+');
    const tokenizer = await changed({ pre_tokenizer: sequence(odd, { ...byteLevel, use_regex: false }) });
    const { tokens, counts } = written(tokenizer, ['1234 and', ' more', ' of it']);
    expect(counts).toEqual([0, 0, 0]);
    expect(tokens.map(({ id }) => id)).toEqual(tokenizer.encode('1234 and more of it'));
  });

  it('looks at what waits alone, and seldom at much', async () => {
    const tokenizer = await opened(REASONER);
    const encode = vi.spyOn(tokenizer.units!, 'encode');
    const count = (parts: readonly string[]): number => {
      encode.mockClear();
      written(tokenizer, parts);
      return encode.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    };
    const words = Array.from({ length: 4000 }, () => ' word');
    expect(count(words)).toBeLessThan(4 * words.join('').length);
    expect(count(Array.from({ length: 4000 }, () => 'word'))).toBeLessThan(80 * 16_000);
  });
});
