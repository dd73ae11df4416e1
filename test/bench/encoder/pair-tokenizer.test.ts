import { describe, expect, it } from 'vitest';
import { PairTokenizer } from '#bench/encoder/pair-tokenizer.js';
import { wordPiece } from '../../support/tiny-encoder.js';

const open = (json: object, maxTokens = 64, config: object = {}) =>
  new PairTokenizer(json, config, 'tokenizer.json', maxTokens);
const special = (tokens: Readonly<Record<string, number>>) =>
  Object.entries(tokens).map(([content, id]) => ({ id, content, special: true, normalized: false }));

describe('PairTokenizer', () => {
  describe('of BERT: WordPiece', () => {
    it('encodes a text and a pair, with types', () => {
      const tokenizer = open(wordPiece);
      expect(tokenizer.encode(['The difference is 6'])).toEqual({
        ids: [2, 4, 10, 11, 6, 7, 3],
        types: [0, 0, 0, 0, 0, 0, 0],
      });
      expect(tokenizer.encode(['sum', 'what six'])).toEqual({
        ids: [2, 5, 3, 1, 9, 3],
        types: [0, 0, 0, 1, 1, 1],
      });
    });

    it('keeps a pair a pair whose second text is empty', () => {
      expect(open(wordPiece).encode(['sum', ''])).toEqual({ ids: [2, 5, 3, 3], types: [0, 0, 0, 1] });
    });

    it('cuts the longer text of a pair first, and then both', () => {
      const tokenizer = open(wordPiece, 8);
      expect(tokenizer.encode(['sum sum sum sum sum', '6']).ids).toEqual([2, 5, 5, 5, 5, 3, 7, 3]);
      expect(tokenizer.encode(['6', 'sum sum sum sum sum']).ids).toEqual([2, 7, 3, 5, 5, 5, 5, 3]);
      expect(tokenizer.encode(['sum sum sum sum', '6 6 6 6']).ids).toEqual([2, 5, 5, 5, 3, 7, 7, 3]);
      expect(tokenizer.encode(['sum '.repeat(20)]).ids).toEqual([2, 5, 5, 5, 5, 5, 5, 3]);
    });
  });

  it('encodes as RoBERTa does: bytes in BPE, two separators', () => {
    const pieces = ['<s>', '<pad>', '</s>', '<unk>', 's', 'i', 'x', 'Ġ', 'si', 'six', 'Ġsix'];
    const vocab = Object.fromEntries(pieces.map((piece, id) => [piece, id]));
    const tokenizer = open(
      {
        normalizer: null,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
        model: { type: 'BPE', vocab, merges: ['s i', 'si x', 'Ġ six'], unk_token: '<unk>' },
        post_processor: {
          type: 'RobertaProcessing',
          sep: ['</s>', 2],
          cls: ['<s>', 0],
          trim_offsets: true,
          add_prefix_space: false,
        },
        decoder: { type: 'ByteLevel' },
        added_tokens: special({ '<s>': 0, '<pad>': 1, '</s>': 2, '<unk>': 3 }),
      },
      64,
      { pad_token: '<pad>' },
    );
    expect(tokenizer.encode(['six six', 'is']).ids).toEqual([0, 9, 10, 2, 2, 5, 4, 2]);
    expect(tokenizer.padId).toBe(1);
  });

  it('encodes as DeBERTa does: pieces of Unigram, an unknown one by its id', () => {
    const pieces = {
      '[PAD]': 0,
      '[CLS]': 0,
      '[SEP]': 0,
      '[UNK]': 0,
      '▁six': -2,
      '▁': -3,
      six: -4,
      '▁is': -2,
    };
    const one = { type_id: 0 };
    const sequence = (id: string, type_id: number) => ({ Sequence: { id, type_id } });
    const mark = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
    const tokenizer = open({
      normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }] },
      pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
      model: { type: 'Unigram', vocab: Object.entries(pieces), unk_id: 3 },
      post_processor: {
        type: 'TemplateProcessing',
        single: [mark('[CLS]', 0), sequence('A', 0), mark('[SEP]', 0)],
        pair: [mark('[CLS]', 0), sequence('A', 0), mark('[SEP]', 0), sequence('B', 1), mark('[SEP]', 1)],
        special_tokens: { '[CLS]': one, '[SEP]': one },
      },
      decoder: { type: 'Metaspace', replacement: '▁' },
      added_tokens: special({ '[PAD]': 0, '[CLS]': 1, '[SEP]': 2, '[UNK]': 3 }),
    });
    expect(tokenizer.encode(['six is', '∑'])).toEqual({
      ids: [1, 4, 7, 2, 5, 3, 2],
      types: [0, 0, 0, 0, 1, 1, 1],
    });
  });

  it('refuses what it cannot use, by file and field', () => {
    expect(() => open({})).toThrow(/^tokenizer.json: the tokenizer library rejects it/);
    expect(() => open({ ...wordPiece, post_processor: null })).toThrow(
      /^tokenizer.json: post_processor: is missing/,
    );
    const preTokenizer = { type: 'Split', pattern: { Regex: ' ' }, behavior: 'MergedWithNext' };
    expect(() => open({ ...wordPiece, pre_tokenizer: preTokenizer })).toThrow(
      /pre_tokenizer.behavior: "MergedWithNext" is not supported/,
    );
  });
});
