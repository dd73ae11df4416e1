import { describe, expect, it } from 'vitest';
import { Seam } from '#gateway/upstream/alignment/repeated-space.js';
import type { UpstreamPiece, UpstreamToken } from '#gateway/upstream/upstream.js';

const token = (text: string): UpstreamToken => ({ id: 1, text, logprob: -1, topLogprobs: [] });
const told = (...texts: string[]): UpstreamPiece => ({
  text: texts.join(''),
  tokens: texts.map(token),
  ids: null,
});
const untold = (text: string, ids: readonly number[] | null = null): UpstreamPiece => ({
  text,
  tokens: null,
  ids,
});
const through = (space: string, ...pieces: UpstreamPiece[]): UpstreamPiece[] => {
  const seam = new Seam(space);
  return pieces.flatMap((piece) => seam.push(piece));
};

describe('white space that a continuation writes again', () => {
  it('is taken off, over as many events as it takes', () => {
    expect(through('\n\n', told('\n'), told('\n'), told('\n'), told('a'))).toEqual([told('\n'), told('a')]);
    expect(through('\n', untold('\nThen'))).toEqual([untold('Then')]);
  });

  it('hides no reasoning', () => {
    const thought: UpstreamPiece = { ...untold(''), hidden: true };
    expect(through('\n', thought, untold('\nThen'))).toEqual([thought, untold('Then')]);
  });

  it('is left where the text goes on otherwise, and what follows it too', () => {
    expect(through(' \n', told('a'), told(' \n'))).toEqual([told('a'), told(' \n')]);
    expect(through(' \n', told(' '), told('a'), told('\n'))).toEqual([told('a'), told('\n')]);
  });

  it('is cut from tokens: what is left of one has no log-probability', () => {
    expect(through('\n', told('\n\n', 'a', 'b'))).toEqual([untold('\n'), told('a', 'b')]);
    expect(through('\n', told('\n', 'a'))).toEqual([told('a')]);
    // The first token of a character has no text of its own.
    expect(through('\n', told('', '😀'))).toEqual([told('', '😀')]);
  });

  it('leaves no ids that run ahead of their text', () => {
    expect(through('\n', untold('', [5]), untold('\na', [6]))).toEqual([untold('a')]);
  });

  it('is taken off after thoughts, too, of which is still told', () => {
    const thought: UpstreamPiece = { ...untold(''), hidden: true };
    expect(through('\n', thought, told('\n'), told('a'))).toEqual([thought, told('a')]);
  });

  it('changes nothing where the server was shown all', () => {
    expect(through('', untold('\na', [5, 6]), told('b'))).toEqual([untold('\na', [5, 6]), told('b')]);
  });
});
