import { describe, expect, it } from 'vitest';
import type { GenerationEvent } from '#gateway/web/protocol.js';
import {
  type Answer,
  type AnswerFailed,
  answerText,
  newAnswer,
  reduce,
  scoreState,
  skippedTokens,
  strongest,
  tokensPerSecond,
  unscoredTokens,
} from '#gateway/web/state.js';
import { created, done, numbered, score, token } from './events.js';

/** Applies the events at 0, 100, 200 … ms. */
const play = (events: readonly (GenerationEvent | AnswerFailed)[], from = newAnswer('reasoner')): Answer =>
  events.reduce((answer, event, count) => reduce(answer, event, count * 100), from);

const whole = numbered([
  created(),
  token(0, 'So'),
  token(1, ' 4'),
  token(2, '.\n'),
  score(0, { adversarial: -0.001, nll: 0.1 }),
  score(1, { adversarial: 0.012, nll: 2 }),
  score(2, { adversarial: 0.001, nll: 0 }),
  done,
]);

describe('an answer, event by event', () => {
  it('waits, streams, and is done with every token and score', () => {
    expect(play([]).phase).toBe('waiting');
    expect(play(whole.slice(0, 1))).toMatchObject({ phase: 'waiting', responseId: 'gen-1' });
    expect(play(whole.slice(0, 3))).toMatchObject({ phase: 'streaming' });
    const answer = play(whole);
    expect(answer).toMatchObject({ phase: 'done', finishReason: 'stop', failure: null });
    expect(answerText(answer)).toBe('So 4.\n');
    expect(answer.tokens[1]).toMatchObject({
      id: 101,
      scores: { adversarial: 0.012 },
      rival: { after: 0.21 },
    });
  });

  it('counts the tokens that are written but not scored, for each method', () => {
    expect(unscoredTokens(play(whole.slice(0, 4)), 'adversarial')).toBe(3);
    expect(unscoredTokens(play(whole.slice(0, 5)), 'adversarial')).toBe(2);
    expect(unscoredTokens(play(whole), 'adversarial')).toBe(0);
    expect(unscoredTokens(play(whole), 'entropy')).toBe(3);
  });

  it('finds the strongest token, and none where the method has no score', () => {
    expect(strongest(play(whole), 'adversarial')).toMatchObject({ token: { index: 1 }, score: 0.012 });
    expect(strongest(play(whole), 'entropy')).toBeNull();
    expect(strongest(play(whole.slice(0, 5)), 'adversarial')?.score).toBe(-0.001);
  });

  it('tells a skipped score from one that is missing', () => {
    const sure = score(0, { nll: 0.001 }, 'stream', ['adversarial']);
    const answer = play(numbered([created(), token(0, 'So'), token(1, ' 4'), sure]));
    expect(answer.tokens.map((each) => scoreState(each, 'adversarial'))).toEqual(['skipped', 'missing']);
    expect(scoreState(answer.tokens[0]!, 'nll')).toBe('scored');
    expect([skippedTokens(answer, 'adversarial'), unscoredTokens(answer, 'adversarial')]).toEqual([1, 1]);
    expect(strongest(answer, 'adversarial')).toBeNull();
  });

  it('measures tokens per second from the first token to the last', () => {
    expect(tokensPerSecond(play(whole.slice(0, 2)))).toBeNull();
    // Three tokens at 100, 200 and 300 ms; the scores and the end come later and do not count.
    expect(tokensPerSecond(play(whole))).toBeCloseTo(10);
  });

  it('keeps scores of the final pass away: their scale is another', () => {
    const answer = play(numbered([created(), token(0, 'So'), score(0, { adversarial: 9 }, 'final')]));
    expect(answer.phase).toBe('streaming');
    expect(answer.tokens[0]?.scores).toBeNull();
  });

  it('leaves the answer before an event as it was', () => {
    const before = play(whole.slice(0, 4));
    const copy = structuredClone(before);
    reduce(before, whole[4]!, 0);
    expect(before).toEqual(copy);
  });
});

describe('an answer that a guard looks after', () => {
  const step = { type: 'step.done', from: 0, to: 2, flagged: true } as const;
  const rolledBack = numbered([
    created(),
    token(0, 'So'),
    token(1, ' 4'),
    token(2, '.'),
    score(0, { nll: 0.1 }),
    score(1, { nll: 2 }),
    { type: 'unknown' },
    { type: 'token.retracted', from: 1 },
    token(1, ' 5'),
    score(1, { nll: 0.3 }),
    step,
    token(2, '!'),
    { ...done, finish_reason: 'content_filter' },
  ]);

  it('loses what is retracted, with its scores, and goes on from there', () => {
    expect(answerText(play(rolledBack.slice(0, 8)))).toBe('So');
    expect(play(rolledBack.slice(0, 9)).tokens[1]).toMatchObject({ text: ' 5', scores: null });
    const answer = play(rolledBack);
    expect(answer).toMatchObject({ phase: 'done', finishReason: 'content_filter', failure: null });
    expect(answerText(answer)).toBe('So 5!');
    expect(answer.tokens.map(({ scores }) => scores?.nll)).toEqual([0.1, 0.3, undefined]);
  });

  it('marks the tokens of flagged steps', () => {
    expect(play(rolledBack).tokens.map(({ flagged }) => flagged)).toEqual([true, true, false]);
    const clear = numbered([created(), token(0, 'So'), { ...step, to: 1, flagged: false }]);
    expect(play(clear).tokens[0]?.flagged).toBe(false);
  });
});

describe('an answer that goes wrong', () => {
  it('fails with the reason and keeps what it has, unscored tokens unscored', () => {
    const answer = play([
      ...whole.slice(0, 5),
      { type: 'answer.failed', reason: 'The connection was lost.' },
    ]);
    expect(answer).toMatchObject({ phase: 'failed', failure: 'The connection was lost.' });
    expect(answer.tokens).toHaveLength(3);
    expect(unscoredTokens(answer, 'adversarial')).toBe(2);
  });

  it.each([
    ['an event is missing', whole.toSpliced(2, 1), 'event 2'],
    ['an event comes twice', whole.toSpliced(2, 0, whole[1]!), 'event 2'],
    ['a token is missing', numbered([created(), token(0, 'So'), token(2, '.')]), 'token 1'],
    ['a score has no token', numbered([created(), token(0, 'So'), score(1, { nll: 1 })]), 'token 1'],
  ])('fails when %s', (_, events, evidence) => {
    const answer = play(events);
    expect(answer.phase).toBe('failed');
    expect(answer.failure).toContain(evidence);
  });

  it('changes no more once it is over', () => {
    const over = play(whole);
    expect(reduce(over, { type: 'answer.failed', reason: 'late' }, 0)).toBe(over);
    const failed = play([{ type: 'answer.failed', reason: 'refused' }]);
    expect(play(whole, failed)).toBe(failed);
  });
});
