import { describe, expect, it } from 'vitest';
import { EMPTY_ANSWER } from '#client/answer.js';
import { isCharted, methodsOf, shownMethod, strongest, unscoredTokens } from '#web/answer/queries.js';
import { play, SCORED as scored } from '../client/fake-server.js';

describe('what the page asks of an answer', () => {
  it('counts the tokens that are written but not scored, for each method', () => {
    expect(unscoredTokens(play(scored.slice(0, 4)), 'nll')).toBe(3);
    expect(unscoredTokens(play(scored), 'nll')).toBe(1);
    expect(unscoredTokens(play(scored), 'entropy')).toBe(3);
  });

  it('finds the strongest token, and none where the method has no score', () => {
    expect(strongest(play(scored), 'nll')).toMatchObject({ token: { index: 1 }, score: 2 });
    expect(strongest(play(scored), 'entropy')).toBeNull();
  });

  it('knows the methods of an answer from the server', () => {
    expect(methodsOf(EMPTY_ANSWER)).toContain('margin');
    expect(methodsOf(play(scored))).toEqual(['adversarial', 'nll']);
  });

  it('colours by what was chosen, or else by the method that judges', () => {
    const answer = play(scored);
    expect(shownMethod(answer, 'adversarial')).toBe('adversarial');
    for (const other of ['margin', null] as const)
      expect(shownMethod(answer, other)).toBe(answer.guard?.method);
  });

  it('charts nothing where there is nothing', () => {
    expect(isCharted(EMPTY_ANSWER)).toBe(false);
    expect(isCharted(play(scored))).toBe(true);
  });
});
