import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { innerTokens, responseSteps, tokensIn } from '#bench/steps/response-steps.js';
import { TokenSteps } from '#src/steps/token-steps.js';

const tokens = fc.array(
  fc.constantFrom('', ' ', '\n', '\n\n', 'So', ' 2', '+', '3', '.', '. A', '.\n', '1.', '$', 'x', '\nThe'),
  { maxLength: 40 },
);

describe('responseSteps', () => {
  it('are those of a stream, with the places of their texts', () => {
    fc.assert(
      fc.property(tokens, fc.constantFrom('sentence' as const, 'paragraph' as const), (texts, mode) => {
        const streamed = new TokenSteps({ mode });
        const steps = [...texts.flatMap((text) => streamed.push(text)), ...streamed.end()];
        const found = responseSteps(texts, mode);
        const text = texts.join('');
        expect(found.map(({ tokens: { start, end }, span }) => [start, end, text.slice(...span)])).toEqual(
          text === '' ? [] : steps.map(({ from, to, text }) => [from, to, text]),
        );
      }),
    );
  });

  it('are those that the response was joined from, whatever is in them', () => {
    const given = ['First.\n\nStill first. And so on.', 'Second', 'third.'];
    const texts = [
      'First',
      '.\n\n',
      'Still',
      ' first. And',
      ' so on.\n',
      '\nSec',
      'ond',
      '\n\n',
      'third',
      '.',
    ];
    expect(responseSteps(texts, given)).toEqual([
      { tokens: { start: 0, end: 5 }, span: [0, 33] },
      { tokens: { start: 5, end: 8 }, span: [33, 41] },
      { tokens: { start: 8, end: 10 }, span: [41, 47] },
    ]);
  });

  it('joins a step in which no token begins to the next, and a last one to the step before it', () => {
    expect(responseSteps(['a\n\nb\n\nc'], ['a', 'b', 'c'])).toEqual([
      { tokens: { start: 0, end: 1 }, span: [0, 7] },
    ]);
    expect(responseSteps(['x\n\na\n\n', 'b'], ['x', 'a', 'b'])).toEqual([
      { tokens: { start: 0, end: 1 }, span: [0, 3] },
      { tokens: { start: 1, end: 2 }, span: [3, 7] },
    ]);
    expect(responseSteps([], 'sentence')).toEqual([]);
  });
});

describe('innerTokens', () => {
  const inner = (texts: readonly string[]): string[] =>
    innerTokens(texts, responseSteps(texts, 'sentence')).flatMap((is, i) => (is ? [texts[i]!] : []));

  it('are all but the first word of each step, however many tokens it has', () => {
    expect(inner(['Th', 'en', ',', ' 3', ' is.', '\n', ' The', 'refore', ' 4', '.'])).toEqual([
      ...[',', ' 3', ' is.', '\n', ' 4', '.'],
    ]);
  });

  it('take a word to be letters and digits, or another character alone', () => {
    expect(inner(['86', '-', '38', '=48', '.\n', '(', '1', ')', '.'])).toEqual([
      ...['-', '38', '=48', '.\n', '1', ')', '.'],
    ]);
  });

  it('may be none', () => {
    expect(inner(['Yes'])).toEqual([]);
    expect(inner([])).toEqual([]);
    expect(inner([' ', '\n'])).toEqual([' ', '\n']);
  });
});

describe('tokensIn', () => {
  it('are those that overlap the span', () => {
    const texts = ['ab', '', 'cd', 'ef'];
    expect(tokensIn(texts, [1, 3])).toEqual({ start: 0, end: 3 });
    expect(tokensIn(texts, [2, 4])).toEqual({ start: 2, end: 3 });
    expect(tokensIn(texts, [4, 4])).toBeNull();
    expect(tokensIn(texts, [6, 9])).toBeNull();
  });
});
