import { Tokenizer as Library } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openTokenizer, Tokenizer } from '#src/tokenizer/tokenizer.js';
import {
  FIXTURES,
  filesOf,
  fixture,
  folder,
  golden,
  type Json,
  json,
  modelError,
  sentencePiece,
} from '../support/graphs.js';

const TINY = fixture('tiny-llama');
const MODEL = { vocabSize: 640 };
const byteLevel = await openTokenizer(TINY, MODEL);
const byteLevelJson = await json(TINY, 'tokenizer.json');
const pieces = new Tokenizer(sentencePiece(), {}, 'tokenizer.json');

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('the fixtures', () => {
  it.each(FIXTURES)('%s: responses and prompts become their ids and back', async (name) => {
    const tokenizer = await openTokenizer(fixture(name), MODEL);
    const cases = await golden(name);
    expect(cases).toHaveLength(3);
    for (const { prompt, promptIds, response, responseIds } of cases) {
      expect(tokenizer.encode(prompt)).toEqual(promptIds);
      expect(tokenizer.encode(response)).toEqual(responseIds);
      expect(tokenizer.decode(responseIds)).toBe(response);
    }
  });
});

// Ids and texts from the Rust implementation, `tokenizers` 0.23.2 for Python, with add_special_tokens=False.
describe('ByteLevel', () => {
  it.each([
    [
      'hello 😀 é<|im_end|> x',
      [257, 267, 78, 220, 172, 253, 246, 222, 220, 127, 102, 639, 220, 87],
      'hello 😀 é x',
    ],
    ['a\n\n b  c', [64, 198, 198, 261, 220, 320], 'a\n\n b  c'],
    ['cafe\u0301', [66, 64, 69, 127, 102], 'café'],
    ['<|im_start|>user\nhi', [638, 354, 264, 198, 353], 'user\nhi'],
    ['', [], ''],
  ])('%j', (input, ids, output) => {
    expect(byteLevel.encode(input)).toEqual(ids);
    expect(byteLevel.decode(ids)).toBe(output);
  });

  it('gives every byte of a character to the token that holds it', () => {
    expect([172, 253, 246, 222].map((id) => [...byteLevel.tokenBytes(id)])).toEqual([
      [0xf0],
      [0x9f],
      [0x98],
      [0x80],
    ]);
  });

  it('shows parts of characters as bytes, whole ones as text', () => {
    expect(byteLevel.tokenText(172)).toBe('<0xF0>');
    expect(byteLevel.tokenText(220)).toBe(' ');
    expect(byteLevel.tokenText(639)).toBe('<|im_end|>');
  });
});

// Tokens from the Rust implementation, `tokenizers` 0.23.2 for Python, where the library has others.
describe('Digits and ByteLevel, as GPT-2 and SmolLM', () => {
  const merges = ['1 2', 'Ġ Ġ', 'Ġ ï', 'Ġ Â', 'Â ²', 'Â² 1', 'Â ħ', 'a b'];
  const tokens = [...'12Ġï»¿Â²ħab', ...merges.map((pair) => pair.replace(' ', ''))];
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const bytes = { type: 'ByteLevel', add_prefix_space: false };
  const digits = (individual: boolean) => ({ type: 'Digits', individual_digits: individual });
  const opened = (...pretokenizers: object[]): Tokenizer =>
    new Tokenizer(
      {
        model: { type: 'BPE', vocab, merges },
        pre_tokenizer: pretokenizers.length === 1 ? pretokenizers[0] : { type: 'Sequence', pretokenizers },
        decoder: { type: 'ByteLevel' },
      },
      {},
      'tokenizer.json',
    );
  const spelt = (tokenizer: Tokenizer, input: string): string =>
    tokenizer
      .encode(input)
      .map((id) => tokens[id])
      .join(' ');

  it.each([
    ['a ²12', 'a ĠÂ ² 12', 'a Ġ Â² 1 2', 'a Ġ Â² 12'],
    ['a 12²1', 'a Ġ 12 Â²1', 'a Ġ 1 2 Â² 1', 'a Ġ 12 Â²1'],
  ])('%j: numbers of any script are digits', (input, none, each, runs) => {
    expect(spelt(opened(bytes), input)).toBe(none);
    expect(spelt(opened(digits(true), bytes), input)).toBe(each);
    expect(spelt(opened(digits(false), bytes), input)).toBe(runs);
  });

  it.each([
    [' \ufeff a', 'Ġï » ¿ Ġ a'],
    ['  \u0085a', 'ĠĠ Âħ a'],
  ])('%j: white space is that of Unicode', (input, expected) => {
    expect(spelt(opened(bytes), input)).toBe(expected);
    expect(spelt(opened(digits(true), bytes), input)).toBe(expected);
  });

  it('leaves out a byte without a token, and merges those beside it', () => {
    expect(spelt(opened(bytes), 'azb')).toBe('ab');
    expect(spelt(opened(bytes), 'z')).toBe('');
  });
});

describe('SentencePiece', () => {
  it.each([
    ['hello a hello', [292, 293, 292], 'hello a hello'],
    [' hello', [259, 292], ' hello'],
    ['  a', [294, 293], '  a'],
    ['hé€😀', [259, 267, 287, 229, 133, 175, 243, 162, 155, 131], 'hé€😀'],
    ['<s>hello</s> a', [1, 292, 2, 259, 293], 'hello  a'],
    ['a<tool>b', [293, 295, 259, 261], 'a<tool> b'],
    ['Hello\nZ', [259, 75, 264, 289, 274, 13, 93], 'Hello\nZ'],
    ['', [], ''],
  ])('%j', (input, ids, output) => {
    expect(pieces.encode(input)).toEqual(ids);
    expect(pieces.decode(ids)).toBe(output);
  });

  it.each([
    ['drops one space at the start, not two', [259, 259, 259], '  '],
    ['drops a space that is spelt as a byte', [35, 260], 'a'],
    ['drops it after a special token', [1, 259, 260], 'a'],
    ['joins bytes to characters', [229, 133, 175], '€'],
    ['leaves out ids without a token', [9999, 260], 'a'],
  ])('%s', (_, ids, output) => {
    expect(pieces.decode(ids)).toBe(output);
  });

  it('replaces an unfinished character by one U+FFFD, where Rust writes one for each byte', () => {
    expect(pieces.decode([229, 133, 260])).toBe('\ufffda');
  });

  it('keeps every space where there is no Strip', () => {
    const json = sentencePiece();
    const decoders = json.decoder.decoders.slice(0, 3);
    const tokenizer = new Tokenizer(
      { ...json, decoder: { type: 'Sequence', decoders } },
      {},
      'tokenizer.json',
    );
    expect(tokenizer.decode([292, 293])).toBe(' hello a');
    expect(tokenizer.leadingSpaces).toBe(0);
    expect(pieces.leadingSpaces).toBe(1);
  });

  it('gives the bytes that a token adds inside a text', () => {
    expect(text(pieces.tokenBytes(292))).toBe(' hello');
    expect([...pieces.tokenBytes(229)]).toEqual([0xe2]);
  });
});

describe('added tokens', () => {
  it('special ones add nothing to the text but are shown', () => {
    expect(byteLevel.tokenBytes(638)).toHaveLength(0);
    expect(byteLevel.tokenText(638)).toBe('<|im_start|>');
    expect(byteLevel.isSpecial(638)).toBe(true);
    expect(byteLevel.isSpecial(64)).toBe(false);
  });

  it('others add their content', () => {
    const tool = pieces.idOf('<tool>')!;
    expect(text(pieces.tokenBytes(tool))).toBe('<tool>');
    expect(pieces.isSpecial(tool)).toBe(false);
  });

  it('are plain text for ByteLevel too, whatever letters they have', () => {
    const added = byteLevelJson.added_tokens;
    const added_tokens = [...(Array.isArray(added) ? added : []), { id: 640, content: 'éĠ', special: false }];
    const tokenizer = new Tokenizer({ ...byteLevelJson, added_tokens }, {}, 'tokenizer.json');
    expect(tokenizer.encode('aéĠ')).toEqual([64, 640]);
    expect(tokenizer.decode([64, 640])).toBe('aéĠ');
  });

  it.each([
    [
      'by its flag in tokenizer_config.json',
      { added_tokens_decoder: { 295: { content: '<tool>', special: true } } },
    ],
    ['by being the end token', { eos_token: '<tool>' }],
    ['by being the end token, with properties', { eos_token: { content: '<tool>', lstrip: false } }],
    ['by being in the list of additional ones', { additional_special_tokens: ['<tool>'] }],
  ])('become special %s', (_, config) => {
    const tokenizer = new Tokenizer(sentencePiece(), config, 'tokenizer.json');
    expect(tokenizer.isSpecial(295)).toBe(true);
    expect(tokenizer.decode([295, 260])).toBe('a');
  });

  it('come from tokenizer_config.json too', () => {
    const config = { added_tokens_decoder: { 296: { content: '<think>', special: false } } };
    const tokenizer = new Tokenizer(sentencePiece(), config, 'tokenizer.json');
    expect(tokenizer.encode('<think>')).toEqual([296]);
    expect(tokenizer.size).toBe(297);
  });
});

describe('the vocabulary', () => {
  it('is looked up by spelling', () => {
    expect(byteLevel.idOf('<|im_end|>')).toBe(639);
    expect(byteLevel.idOf('Ġt')).toBe(byteLevel.encode(' t')[0]);
    expect(byteLevel.idOf('no such token')).toBeUndefined();
    expect(byteLevel.size).toBe(640);
  });

  it('may be smaller than the model, whose last rows are padding', async () => {
    const tokenizer = await openTokenizer(TINY, { vocabSize: 1024 });
    expect(tokenizer.size).toBe(640);
    expect(tokenizer.tokenBytes(1000)).toHaveLength(0);
    expect(tokenizer.tokenText(1000)).toBe('<id 1000>');
    expect(tokenizer.decode([64, 1000, 64])).toBe('aa');
  });

  it('may hold tokens named like members of Object', () => {
    const source = sentencePiece();
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
    const vocab = JSON.stringify(source.model.vocab).replace(
      '{',
      `{${names.map((name, i) => `"${name}": ${300 + i}, `).join('')}`,
    );
    const tokenizer = new Tokenizer(
      { ...source, model: { ...source.model, vocab: JSON.parse(vocab) } },
      {},
      'tokenizer.json',
    );
    expect(names.map((name) => tokenizer.idOf(name))).toEqual([300, 301, 302, 303]);
    expect(tokenizer.decode([300, 301, 302, 303])).toBe(names.join(''));
    expect(pieces.idOf('constructor')).toBeUndefined();
  });
});

describe('decoding agrees with the library', () => {
  const library = (json: object) => new Library(json, { clean_up_tokenization_spaces: false });

  it.each([
    ['ByteLevel', byteLevel, library(byteLevelJson), 640],
    ['SentencePiece', pieces, library(sentencePiece()), 296],
  ])('%s', (_, tokenizer, oracle, size) => {
    // It drops a byte order mark that bytes of SentencePiece spell; three tokens at random never do.
    fc.assert(
      fc.property(fc.array(fc.nat(size - 1), { minLength: 1 }), (ids) => {
        expect(tokenizer.decode(ids)).toBe(oracle.decode(ids, { skip_special_tokens: true }));
      }),
    );
  });

  it('text survives encoding and decoding, but for the letter that SentencePiece writes a space as', () => {
    const graphemes = fc.string({ unit: 'grapheme' }).map((string) => string.normalize('NFC'));
    fc.assert(
      fc.property(graphemes, (string) => {
        expect(byteLevel.decode(byteLevel.encode(string))).toBe(string);
        expect(pieces.decode(pieces.encode(string))).toBe(string.replaceAll('▁', ' '));
      }),
    );
  });
});

describe('refusals name file and field', () => {
  const base = sentencePiece();
  const withModel = (change: Json) => ({ ...base, model: { ...base.model, ...change } });
  const withVocab = (change: Json) => withModel({ vocab: { ...base.model.vocab, ...change } });
  const withDecoder = (...decoders: unknown[]) => ({ ...base, decoder: { type: 'Sequence', decoders } });
  const withAdded = (...tokens: unknown[]) => ({ ...base, added_tokens: [...base.added_tokens, ...tokens] });
  const split = (behavior: string, pattern: Json) => ({ type: 'Split', pattern, behavior, invert: false });
  const [replace, fallback, fuse, strip] = base.decoder.decoders;

  const cases: [string, unknown, string, RegExp][] = [
    ['no object', 'x', '', /expected object/],
    ['no model', { ...base, model: undefined }, 'model', /is missing/],
    [
      'WordPiece',
      withModel({ type: 'WordPiece' }),
      'model.type',
      /"WordPiece" is not supported \(supported: BPE\)/,
    ],
    ['Unigram', withModel({ type: 'Unigram' }), 'model.type', /"Unigram"/],
    ['a word suffix', withModel({ end_of_word_suffix: '</w>' }), 'model.end_of_word_suffix', /expected/],
    ['no merges', withModel({ merges: undefined }), 'model.merges', /is missing/],
    ['no vocabulary', withModel({ vocab: null }), 'model.vocab', /found null/],
    ['a vocabulary as a list', withModel({ vocab: [['a', 0]] }), 'model.vocab', /expected an object/],
    ['an id in quotes', withVocab({ x: '7' }), 'model.vocab.x', /found "7"/],
    ['a negative id', withVocab({ x: -1 }), 'model.vocab.x', /found -1/],
    ['a fractional id', withVocab({ x: 0.5 }), 'model.vocab.x', /found 0.5/],
    ['an id that would exhaust memory', withVocab({ x: 2 ** 40 }), 'model.vocab.x', /token id/],
    ['an id twice', withVocab({ zz: 260 }), 'model.vocab.zz', /has id 260, as does "a"/],
    [
      'an unknown token that is not there',
      withModel({ unk_token: '<x>' }),
      'model.unk_token',
      /"<x>" is not in the vocabulary/,
    ],
    ['no decoder', { ...base, decoder: null }, 'decoder', /null is not supported/],
    ['another decoder', { ...base, decoder: { type: 'WordPiece' } }, 'decoder', /"WordPiece".*not supported/],
    ['Metaspace', { ...base, decoder: { type: 'Metaspace', replacement: '▁' } }, 'decoder', /Metaspace/],
    ['a sequence in another order', withDecoder(fallback, replace, fuse, strip), 'decoder', /not supported/],
    [
      'a sequence without Fuse, which strips each token',
      withDecoder(replace, fallback, strip),
      'decoder',
      /not supported/,
    ],
    [
      'a Strip at the end of the text',
      withDecoder(replace, fallback, fuse, { ...strip, stop: 1 }),
      'decoder',
      /not supported/,
    ],
    [
      'a fifth step',
      withDecoder(replace, fallback, fuse, strip, { type: 'ByteLevel' }),
      'decoder',
      /not supported/,
    ],
    [
      'an added token without content',
      withAdded({ id: 300, content: '' }),
      'added_tokens[4].content',
      /small/,
    ],
    ['an added token without id', withAdded({ content: 'x' }), 'added_tokens[4].id', /is missing/],
    [
      'an added token with the id of another',
      withAdded({ id: 1, content: '<b>' }),
      'added_tokens[4]',
      /id 1 is both "<s>" and "<b>"/,
    ],
    [
      'an added token with two ids',
      withAdded({ id: 300, content: 'hello' }),
      'added_tokens[4]',
      /has id 300 here and 291 before/,
    ],
    [
      'an added token that is none within a word',
      withAdded({ id: 300, content: 'x', single_word: true }),
      'added_tokens[4].single_word',
      /is not supported/,
    ],
    ...[0, -1, 0.5, undefined].map((length): [string, unknown, string, RegExp] => [
      `pieces of length ${length}, which would never end`,
      { ...base, pre_tokenizer: { type: 'FixedLength', length } },
      'pre_tokenizer.length',
      /expected/,
    ]),
    [
      'a list of steps that was repeated, which makes gigabytes of a word',
      { ...base, pre_tokenizer: { type: 'Sequence', pretokenizers: Array(2).fill({ type: 'ByteLevel' }) } },
      'pre_tokenizer.pretokenizers',
      /more than one ByteLevel/,
    ],
    [
      'a list of steps without end',
      { ...base, normalizer: { type: 'Sequence', normalizers: Array(17).fill({ type: 'NFC' }) } },
      'normalizer.normalizers',
      /17 steps are not supported/,
    ],
    [
      'a decoder that nests too deep to be shown, by a Node whose JSON.stringify has an end',
      { ...base, decoder: JSON.parse('['.repeat(20_000) + ']'.repeat(20_000)) },
      'decoder',
      /(nests too deep to be shown|\[{57}\.\.\.) is not supported/,
    ],
    [
      'a split that the library cannot do',
      { ...base, pre_tokenizer: split('MergedWithNext', { Regex: 'x' }) },
      'pre_tokenizer.behavior',
      /"MergedWithNext" is not supported/,
    ],
    [
      'a split without a pattern',
      { ...base, pre_tokenizer: { type: 'Sequence', pretokenizers: [split('Isolated', {})] } },
      'pre_tokenizer.pretokenizers[0].pattern',
      /String or a Regex/,
    ],
    [
      'a normalizer without a pattern',
      { ...base, normalizer: { type: 'Replace', pattern: {}, content: '' } },
      'normalizer.pattern',
      /String or a Regex/,
    ],
    [
      'nested sequences',
      {
        ...base,
        pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Sequence', pretokenizers: [] }] },
      },
      'pre_tokenizer.pretokenizers[0]',
      /Sequence in a Sequence/,
    ],
    [
      'a pre-tokenizer that the library lacks',
      { ...base, pre_tokenizer: { type: 'Nonsense' } },
      '',
      /library rejects it.*Nonsense/,
    ],
    [
      'a regular expression that is none',
      { ...base, pre_tokenizer: split('Isolated', { Regex: '(' }) },
      '',
      /library rejects it/,
    ],
    ['merges that are left out by chance', withModel({ dropout: 0.1 }), 'model.dropout', /is not supported/],
    ['merges that are none', withModel({ merges: ['a b', 5] }), '', /library rejects it/],
  ];

  it.each(cases)('%s', async (_, source, field, message) => {
    const error = await modelError(() => new Tokenizer(source, {}, 'dir/tokenizer.json'));
    expect(error).toMatchObject({ type: 'model', file: 'dir/tokenizer.json', field });
    expect(error.message).toMatch(message);
  });

  it.each([
    ['a named token that is a number', { eos_token: 2 }, 'eos_token'],
    ['an added token without content', { added_tokens_decoder: { 7: {} } }, 'added_tokens_decoder.7.content'],
    [
      'an added token whose id is none',
      { added_tokens_decoder: { x: { content: 'y' } } },
      'added_tokens_decoder.x.id',
    ],
    [
      'an added token that is another in tokenizer.json',
      { added_tokens_decoder: { 295: { content: '<b>' } } },
      'added_tokens_decoder.295',
    ],
  ])('tokenizer_config.json: %s', async (_, config, field) => {
    const error = await modelError(() => new Tokenizer(sentencePiece(), config, 'dir/tokenizer.json'));
    expect(error).toMatchObject({ file: 'dir/tokenizer_config.json', field });
  });

  it('a token that the model has no row for', async () => {
    const error = await modelError(() => openTokenizer(TINY, { vocabSize: 639 }));
    expect(error).toMatchObject({ file: `${TINY}/tokenizer.json`, field: 'model.vocab' });
    expect(error.message).toMatch(/<\|im_end\|> has id 639, but the model's vocabulary ends before 639/);
  });

  it.each([
    ['missing', undefined, /tokenizer\.json: the file is missing/],
    ['cut off', '{"model": {', /tokenizer\.json: is not JSON/],
  ])('a tokenizer.json that is %s', async (_, content, message) => {
    const { 'tokenizer.json': _removed, ...files } = await filesOf(TINY);
    const dir = await folder({ ...files, ...(content !== undefined && { 'tokenizer.json': content }) });
    expect((await modelError(() => openTokenizer(dir, MODEL))).message).toMatch(message);
  });
});
