import { describe, expect, it } from 'vitest';
import { type Answer, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import type { GenerationEvent } from '#client/protocol.js';
import {
  isCharted,
  methodsOf,
  shownMethod,
  skippedTokens,
  strongest,
  unscoredTokens,
} from '#web/answer/queries.js';
import { created, numbered, score, token } from '../client/fake-server.js';

const play = (events: readonly GenerationEvent[]): Answer => events.reduce(foldAnswer, EMPTY_ANSWER);

const scored = numbered([
  created(),
  token(0, 'So'),
  token(1, ' 4'),
  token(2, '.\n'),
  score(0, 0.1, { skipped: ['adversarial'] }),
  score(1, 2),
]);

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

  it('counts scores that were skipped for themselves', () => {
    expect(skippedTokens(play(scored), 'adversarial')).toBe(1);
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
