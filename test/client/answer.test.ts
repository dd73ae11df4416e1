import { describe, expect, it } from 'vitest';
import { answerText, EMPTY_ANSWER, failAnswer, foldAnswer } from '#client/answer.js';
import { FlinchError } from '#client/client-errors.js';
import type { GenerationEvent } from '#client/protocol.js';
import {
  created,
  done,
  flagged,
  numbered,
  play,
  rolledBack,
  score,
  settled,
  token,
  VERDICT,
} from './fake-server.js';

const lost = new FlinchError('connection_lost', 'gone');

describe('an answer, event by event', () => {
  const whole = numbered([
    created(),
    token(0, 'So'),
    token(1, ' 4'),
    score(0, 0.1, { risk: { nll: 0.5 }, skipped: ['adversarial'] }),
    score(1, 2, { rival: { id: 7, text: '7', before: 0.2, after: 0.21 } }),
    done,
  ]);

  it('waits, streams, and is done with every token and score', () => {
    expect(EMPTY_ANSWER.phase).toBe('waiting');
    expect(play(whole.slice(0, 1))).toMatchObject({
      phase: 'waiting',
      responseId: 'resp-1',
      model: 'reasoner',
    });
    expect(play(whole.slice(0, 2))).toMatchObject({ phase: 'streaming' });
    const answer = play(whole);
    expect(answer).toMatchObject({ phase: 'done', finishReason: 'stop', usage: { completion_tokens: 3 } });
    expect(answer.verdict).toBeNull();
    expect(answerText(answer)).toBe('So 4');
    expect(answer.tokens).toMatchObject([
      {
        id: 100,
        scores: { nll: 0.1 },
        risk: { nll: 0.5 },
        skipped: ['adversarial'],
        rival: null,
      },
      { id: 101, scores: { nll: 2 }, risk: {}, skipped: [], rival: { after: 0.21 } },
    ]);
  });

  it('has the verdict at its end', () => {
    const verdict = { ...VERDICT, flagged: null, reason: 'unscored_tokens' };
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    const judged = { type: 'generation.done', finish_reason: 'stop', usage, verdict } as const;
    expect(play(numbered([created(), token(0, 'So'), judged])).verdict).toEqual(verdict);
  });

  it('has no score for a token until it comes', () => {
    expect(play(whole.slice(0, 3)).tokens[1]).toMatchObject({ scores: null });
  });

  it('has tokens of reasoning and tool calls, which are not its text', () => {
    const place = { response_id: 'r', id: 1, logprob: -1 };
    const parts = [
      { index: 0, text: '', part: 'reasoning', part_text: 'Hm' },
      { index: 1, text: 'Yes' },
      { index: 2, text: '', part: 'tool_calls', part_text: '{}', call: 1 },
    ] as const;
    const answer = parts.reduce(
      (so, part, i) => foldAnswer(so, { type: 'token.delta', offset: i + 1, ...place, ...part }),
      EMPTY_ANSWER,
    );
    expect(answerText(answer)).toBe('Yes');
    expect(answer.tokens.map(({ part, partText, call }) => [part, partText, call])).toEqual([
      ['reasoning', 'Hm', undefined],
      [undefined, undefined, undefined],
      ['tool_calls', '{}', 1],
    ]);
  });

  it('keeps scores of the final pass away: their scale is another', () => {
    const answer = play(numbered([created(), token(0, 'So'), score(0, 9, { pass: 'final' })]));
    expect(answer.tokens[0]?.scores).toBeNull();
  });

  it('leaves the answer before an event as it was', () => {
    const events = rolledBack();
    let answer = EMPTY_ANSWER;
    for (const event of events) {
      const copy = structuredClone(answer);
      const next = foldAnswer(answer, event);
      expect(answer).toEqual(copy);
      answer = next;
    }
  });

  it('knows what a model without a vocabulary or a scorer says, and that a scorer is the wrong one', () => {
    const answer = play(
      numbered([
        created('request-0', { prompt_tokens: null }),
        { type: 'token.delta', index: 0, id: null, text: 'So', logprob: null },
        { type: 'scorer.mismatch', tokens: 1, difference: 2, tolerance: 0.1 },
      ]),
    );
    expect(answer.tokens[0]).toMatchObject({ id: null, logprob: null });
    expect(answer.mismatch).toEqual({ tokens: 1, difference: 2, tolerance: 0.1 });
  });

  it('is that of another model where that answers in place of a flagged one', () => {
    const escalated = { type: 'generation.escalated', to: 'large', failed: null, risk: 0.99 } as const;
    const first = [...whole.slice(0, -1).map(({ response_id, offset, ...event }) => event)];
    const answer = play(numbered([...first, escalated, token(0, 'Five'), done]));
    expect(answerText(answer)).toBe('Five');
    expect(answer).toMatchObject({ phase: 'done', flags: [], escalation: { to: 'large', risk: 0.99 } });
    const failed = play(numbered([...first, { ...escalated, failed: 'upstream_unreachable' }, done]));
    expect(answerText(failed)).toBe('So 4');
    expect(failed.escalation?.failed).toBe('upstream_unreachable');
  });

  it('begins anew where a vote returns another answer', () => {
    const vote = { answers: 3, agreed: 2, replaced: true, failed: null, risk: 0.99 };
    const first = [...whole.slice(0, -1).map(({ response_id, offset, ...event }) => event)];
    const other = play(numbered([...first, { type: 'generation.voted', ...vote }, token(0, 'Five'), done]));
    expect(answerText(other)).toBe('Five');
    expect(other).toMatchObject({ phase: 'done', flags: [], vote });
    const kept = { ...vote, replaced: false };
    const same = play(numbered([...first, { type: 'generation.voted', ...kept }, done]));
    expect(answerText(same)).toBe('So 4');
    expect(same.vote).toEqual(kept);
  });

  it.each([
    ['a token is missing', [created(), token(0, 'So'), token(2, '.')], 'token 1'],
    ['a score has no token', [created(), token(0, 'So'), score(1, 1)], 'token 1'],
  ])('is refused when %s', (_, drafts, evidence) => {
    expect(() => play(numbered(drafts))).toThrow(evidence);
  });

  it('keeps what it has where it fails, and changes no more once it is over', () => {
    const failed = failAnswer(play(whole.slice(0, 4)), lost);
    expect(failed).toMatchObject({ phase: 'failed', error: lost });
    expect(failed.tokens.map(({ scores }) => scores === null)).toEqual([false, true]);
    const over = play(whole);
    expect(failAnswer(over, lost)).toBe(over);
  });
});

describe('an answer that a guard looks after', () => {
  const events = rolledBack();
  const at = (type: GenerationEvent['type']) => events.findIndex((event) => event.type === type);

  it('loses what is retracted, with its scores, and goes on from there', () => {
    expect(answerText(play(events.slice(0, at('token.retracted') + 1)))).toBe('So');
    const answer = play(events);
    expect(answerText(answer)).toBe('So 5!');
    expect(answer.tokens.map(({ scores }) => scores?.nll)).toEqual([0.1, 0.3, undefined]);
  });

  it('keeps what was struck out of the step, and what replaced it', () => {
    const drawing = play(events.slice(0, at('rollback.started') + 1));
    expect(drawing.rollbacks).toMatchObject([{ struck: ' 4', from: 1, to: 1, outcome: null, drawn: 2 }]);
    const answer = play(events);
    expect(answer.flags).toMatchObject([{ step: 0, text: 'So 4', action: 'rollback' }]);
    expect(answer.steps).toMatchObject([{ step: 0, text: 'So 5', flagged: false }]);
    const [rollback] = answer.rollbacks;
    expect(rollback).toMatchObject({ struck: ' 4', from: 1, to: 2, outcome: 'replaced', chosen: 2 });
    expect(rollback?.candidates).toHaveLength(3);
  });

  it('has nothing in place of a step that was kept', () => {
    const kept = events[at('rollback.done')]!;
    const answer = play([
      ...events.slice(0, at('token.retracted')),
      { ...kept, outcome: 'kept', chosen: 0 } as typeof kept,
    ]);
    expect(answer.rollbacks).toMatchObject([{ from: 1, to: 1, outcome: 'kept' }]);
    expect(answerText(answer)).toBe('So 4.');
  });

  it('knows what was struck out of a step that was held, too', () => {
    const candidates = [
      { text: 'So 4', tokens: 2, score: 1 },
      { text: 'So 5', tokens: 2, score: 0.2 },
    ];
    const answer = play(
      numbered([
        created(),
        flagged(),
        { type: 'rollback.started', rollback: 0, step: 0, from: 0, candidates: 1 },
        token(0, 'So'),
        token(1, ' 5'),
        { type: 'rollback.done', rollback: 0, step: 0, outcome: 'replaced', chosen: 1, candidates },
        settled({ flagged: false, text: 'So 5' }),
      ]),
    );
    expect(answer.rollbacks).toMatchObject([{ struck: 'So 4', from: 0, to: 2 }]);
  });
});
