import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { openTokenizer, Tokenizer } from '#src/tokenizer/tokenizer.js';
import { fixture, sentencePiece } from '../support/graphs.js';

const byteLevel = await openTokenizer(fixture('tiny-llama'), { vocabSize: 640 });
const pieces = new Tokenizer(sentencePiece(), {}, 'tokenizer.json');

function stream(tokenizer: Tokenizer, ids: readonly number[]): string[] {
  const detokenizer = new Detokenizer(tokenizer);
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

describe('Detokenizer', () => {
  it('holds a character back until its last byte', () => {
    const ids = byteLevel.encode('a😀b');
    expect(stream(byteLevel, ids)).toEqual(['a', '', '', '', '😀', 'b', '']);
  });

  it('gives up a character that another token interrupts', () => {
    const [first] = byteLevel.encode('😀');
    expect(stream(byteLevel, [first!, 64])).toEqual(['', '\ufffda', '']);
  });

  it('ends an unfinished character when flushed', () => {
    const [first] = byteLevel.encode('😀');
    expect(stream(byteLevel, [64, first!])).toEqual(['a', '', '\ufffd']);
  });

  it('passes over special tokens, even inside a character', () => {
    const [first, ...rest] = byteLevel.encode('é');
    expect(stream(byteLevel, [638, first!, 639, ...rest])).toEqual(['', '', '', 'é', '']);
  });

  it('drops the space of SentencePiece once, at the start', () => {
    expect(stream(pieces, pieces.encode('hello hello'))).toEqual(['hello', ' hello', '']);
    expect(stream(pieces, [1, 259, 259, 260])).toEqual(['', '', ' ', 'a', '']);
  });

  it('begins a new text after flush', () => {
    const detokenizer = new Detokenizer(pieces);
    expect([detokenizer.push(292), detokenizer.flush(), detokenizer.push(292)]).toEqual([
      'hello',
      '',
      'hello',
    ]);
  });

  it('keeps a byte order mark', () => {
    expect(stream(byteLevel, byteLevel.encode('\ufeffa')).join('')).toBe('\ufeffa');
  });

  const emoji = ['😀', '👩‍🚀', '🇪🇺', 'é', '€', '\ufeff', 'a '];

  it('no piece ends inside a character of a text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...emoji)), (parts) => {
        for (const tokenizer of [byteLevel, pieces]) {
          const text = parts.join('');
          const produced = stream(tokenizer, tokenizer.encode(text));
          expect(produced.join('')).toBe(text.normalize('NFC'));
          expect(produced.join('|')).not.toContain('\ufffd');
        }
      }),
    );
  });
});
