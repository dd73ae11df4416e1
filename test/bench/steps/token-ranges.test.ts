import { describe, expect, it } from 'vitest';
import { tokenSteps } from '#src/bench/steps/token-ranges.js';

describe('tokenSteps', () => {
  const tokens = ['One', ' step', '.\n', 'Two', '.', ' ', ' Three', '\n\n', 'Four', '.'];

  it('gives each token to the step that holds its first character that is not white', () => {
    const steps = tokenSteps(tokens);
    const texts = steps.map(([from, to]) => tokens.slice(from, to).join(''));
    expect(texts).toEqual(['One step.\n', 'Two. ', ' Three\n\n', 'Four.']);
    expect(steps.flat()).toEqual([0, 3, 3, 6, 6, 8, 8, 10]);
  });

  it('takes blank lines for ends of steps where they are paragraphs', () => {
    expect(tokenSteps(tokens, 'paragraph')).toEqual([
      [0, 8],
      [8, 10],
    ]);
  });

  it('has none of an empty response', () => {
    expect(tokenSteps([])).toEqual([]);
  });
});
