import { describe, expect, it } from 'vitest';
import { type Answer, answerText, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import type { GenerationEvent } from '#client/protocol.js';
import {
  flaggedRanges,
  methodsOf,
  rollbackAt,
  scaleOf,
  scoreState,
  skippedTokens,
  stepAt,
  strongest,
  unscoredTokens,
} from '#web/queries.js';
import { created, numbered, rolledBack, score, settled, token } from '../client/fake-server.js';

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

  it('tells a skipped score from one that is missing', () => {
    const answer = play(scored);
    expect(answer.tokens.map((each) => scoreState(each, 'adversarial'))).toEqual([
      'skipped',
      'missing',
      'missing',
    ]);
    expect(skippedTokens(answer, 'adversarial')).toBe(1);
  });

  it('knows the methods of an answer from the server', () => {
    expect(methodsOf(EMPTY_ANSWER)).toContain('margin');
    expect(methodsOf(play(scored))).toEqual(['adversarial', 'nll']);
  });

  it('colours by risk where there is one, up to the threshold, else by score', () => {
    const byScore = scaleOf(play(scored), 'nll');
    expect(byScore).toMatchObject({ by: 'score', full: 2 });
    expect(play(scored).tokens.map(byScore.of)).toEqual([0.05, 1, 0]);
    const rated = play([...scored, ...numbered([score(2, 9, { risk: { nll: 0.98 } })])]);
    const byRisk = scaleOf(rated, 'nll');
    expect(byRisk).toMatchObject({ by: 'risk', full: 0.98 });
    expect(rated.tokens.map(byRisk.of)).toEqual([0, 0, 1]);
    expect(scaleOf(rated, 'adversarial').by).toBe('score');
  });

  it('finds the step of a token: a settled one, or a flagged one before it is settled', () => {
    const events = rolledBack();
    const flag = events.findIndex(({ type }) => type === 'step.flagged');
    expect(stepAt(play(events.slice(0, flag)), 0)).toBeNull();
    expect(stepAt(play(events.slice(0, flag + 1)), 1)).toMatchObject({ step: 0, flagged: true });
    expect(stepAt(play(events), 1)).toMatchObject({ step: 0, text: 'So 5', flagged: false });
    expect(stepAt(play(events), 2)).toBeNull();
    const again = play([...events.slice(0, -1), ...numbered([settled({ step: 1, from: 2, to: 3 })])]);
    expect(stepAt(again, 2)).toMatchObject({ step: 1, flagged: true });
  });

  it('finds flagged steps in the text, settled or not, and not those that were replaced', () => {
    const events = rolledBack();
    const flag = events.findIndex(({ type }) => type === 'step.flagged');
    const texts = (answer: Answer): readonly string[] =>
      flaggedRanges(answer).map(({ from, to }) => answerText(answer).slice(from, to));
    expect(texts(play(events.slice(0, flag)))).toEqual([]);
    expect(texts(play(events.slice(0, flag + 1)))).toEqual(['So 4']);
    expect(texts(play(events))).toEqual([]);
    const again = play([...events.slice(0, -1), ...numbered([settled({ step: 1, from: 2, to: 3 })])]);
    expect(texts(again)).toEqual(['!']);
    expect(flaggedRanges(again)[0]?.title).toMatch(/^Flagged step: higher than .* of ordinary steps$/);
  });

  it('finds the rollback that a token came out of', () => {
    const answer = play(rolledBack());
    expect(answer.tokens.map(({ index }) => rollbackAt(answer, index)?.rollback)).toEqual([
      undefined,
      0,
      undefined,
    ]);
  });
});
