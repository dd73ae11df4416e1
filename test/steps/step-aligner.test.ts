import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StepAligner, TokenSteps } from '#src/index.js';
import { shortProse, tokensOf } from '../support/prose.js';

/** Indices of the tokens that may begin a step. */
function beginnings(tokens: readonly string[]): number[] {
  const aligner = new StepAligner();
  return tokens.flatMap((text, index) => (aligner.begins(text) ? [index] : []));
}

describe('StepAligner', () => {
  it('finds every token that a step begins with', () => {
    fc.assert(
      fc.property(tokensOf(shortProse), (tokens) => {
        const steps = new TokenSteps();
        const found = [...tokens.flatMap((text) => steps.push(text)), ...steps.end()];
        expect(beginnings(tokens)).toEqual(expect.arrayContaining(found.map(({ from }) => from)));
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[rule: string, tokens: string[], begin: number[]]>([
    ['the first token', ['It', ' is'], [0]],
    [
      'nothing within a sentence',
      ['It', ' is', ' 3', '.', '14', ',', ' (', 'or', ')', ' so', ' "', 'X', '"'],
      [0],
    ],
    ['a sentence', ['It', ' is', '.', ' So', ' it', ' is', '?', ' ', 'Yes'], [0, 3, 8]],
    ['lower case after a full stop', ['It', ' is', ' approx', '.', ' five'], [0]],
    ['closing quotes', ['"', 'It', '.', '"', ' So', '."', ' ', ') So'], [0, 4]],
    ['a line', ['It', '\n', '\n', 'so', '\nit'], [0, 3, 4]],
    ['a break within the token before', ['It', '. So', ' is'], [0, 2]],
    ['scripts without spaces', ['你', '。', '」', '好', '吧', '。好', '吧'], [0, 3, 6]],
    ['bytes of a character', ['It', ' is', '.', ' ', '', '', '𝐀', '', 'b'], [0, 4, 5, 6]],
  ])('%s', (_, tokens, begin) => {
    expect(beginnings(tokens)).toEqual(begin);
  });
});
