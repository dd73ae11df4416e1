import { describe, expect, it } from 'vitest';
import { type Answer, EMPTY_ANSWER } from '#client/answer.js';
import { detailsOf, inOneLine, statusOf } from '#web/answer/status-words.js';
import type { RecordedEvent } from '#web/chats/recording.js';
import {
  created,
  done,
  flagged,
  GUARD,
  numbered,
  play,
  rolledBack,
  score,
  settled,
  token,
  VERDICT,
} from '../client/fake-server.js';

const OVER = { phase: 'done', finishReason: 'stop', model: 'small', verdict: VERDICT } as const;
const verdict = { ...VERDICT, advice: 'check', flagged: true, risk: 0.99 } as const;

const exchangeOf = (changes: Partial<Answer>, events: readonly RecordedEvent[] = []) => ({
  ...{ id: 'a', turn: 'a', question: '', model: 'small', leftOut: 0 },
  answer: { ...EMPTY_ANSWER, ...changes },
  events,
});
const words = (changes: Partial<Answer>, events?: readonly RecordedEvent[], connected = true): string =>
  inOneLine(statusOf(exchangeOf(changes, events), connected));
/** The beginning of a stream whose answer another one replaces. */
const eventsOf = (type: 'generation.voted' | 'generation.escalated') => {
  const replacing = { type, response_id: '', offset: 9, to: 'large', risk: 0.99, failed: null };
  const texts = [
    token(0, 'So\n'),
    token(1, '4'),
    { type: 'token.retracted' as const, from: 1, tokens: 1 },
    token(1, '5.'),
  ];
  const vote = { answers: 3, agreed: 2, replaced: true };
  const all = [...numbered(texts), { ...replacing, ...vote }, ...numbered([token(0, 'Other')])];
  return all.map((event) => ({ atMs: 0, event })) as RecordedEvent[];
};

describe('the status of an answer', () => {
  it.each([
    [{}, true, 'Waiting for small.'],
    [{}, false, 'Waiting for the connection.'],
    [{ phase: 'streaming' }, true, 'Writing.'],
    [{ ...play(rolledBack().slice(0, 7)), model: 'small' }, true, 'Writing. Worth checking so far: step 1.'],
    [
      { ...play(rolledBack().slice(0, 8)), model: 'small' },
      true,
      'Sampling step 1 again. Worth checking so far: step 1.',
    ],
    [{ ...OVER, phase: 'failed', verdict: null }, true, 'Failed.'],
  ] as const)('while there is no verdict: %#', (changes, connected, line) => {
    expect(words(changes, [], connected)).toBe(line);
  });

  it('begins with the advice, and names a reason to end that is not the usual one', () => {
    expect(words(OVER)).toBe('Looks ordinary. It can still be wrong.');
    // Scores that follow the text may come, or be lost.
    for (const phase of ['scoring', 'failed'] as const)
      expect(words({ ...OVER, phase })).toBe('Looks ordinary. It can still be wrong.');
    const [first] = play(numbered([token(0, 'a')])).tokens;
    const unusual = { ...first!, risk: { [GUARD.method]: 1 } };
    const guard = { ...GUARD, methods: [...GUARD.methods] };
    expect(words({ ...OVER, guard, tokens: [unusual] })).toMatch(/ Single words are unusual, but no step/);
    expect(words({ ...OVER, finishReason: 'length' })).toMatch(/wrong\. Cut off at the length limit\.$/);
    expect(words({ ...OVER, verdict: null, finishReason: 'cancelled' })).toBe(
      'Not judged. It ended without a verdict. Stopped by you.',
    );
    const steps = play(numbered([token(0, 'a'), token(1, 'b'), settled()])).steps;
    const whole = { ...VERDICT, advice: 'check', flagged_steps: 1 } as const;
    const tokens = play(numbered([token(0, 'a'), token(1, 'b')])).tokens;
    expect(words({ ...OVER, tokens, steps, verdict: whole })).toBe(
      'Worth checking: step 1. The answer as a whole looks ordinary.',
    );
  });

  it.each([
    [null, 'Written by large in place of a doubtful answer of small, which ended “5.”.'],
    ['upstream_unreachable', 'large did not answer in its place (upstream_unreachable).'],
  ])('says which model wrote the answer: %j', (failed, line) => {
    const escalation = { to: 'large', failed, risk: 0.99 };
    expect(words({ ...OVER, escalation }, eventsOf('generation.escalated'))).toContain(line);
  });

  it.each([
    [
      true,
      2,
      'It replaces a doubtful answer, which ended “5.”. In a vote, 2 of 3 answers say this, 1 does not.',
    ],
    [false, 3, 'In a vote on it, 3 of 3 answers say this.'],
    [false, 1, 'In a vote on it, 1 of 3 answers says this, 2 do not.'],
    [false, 0, 'In a vote on it, no answer says anything that can be compared.'],
  ])('says how answers have voted: replaced %j, agreed %j', (replaced, agreed, line) => {
    const vote = { answers: 3, agreed, replaced, failed: null, risk: 0.99 };
    expect(words({ ...OVER, vote }, eventsOf('generation.voted'))).toContain(line);
  });
});

describe('the details of an answer', () => {
  it('has the ranks with the threshold, and no word on scores that are still to come', () => {
    const scores = [score(0, 0.1), score(1, 2)];
    const events = [created(undefined, { guard: { ...GUARD, methods: ['adversarial', 'nll'] } })];
    const written = [token(0, 'So'), token(1, ' 4'), ...scores, flagged(), settled()];
    const answer = play(numbered([...events, ...written, { ...done, verdict } as typeof done]));
    for (const method of ['nll', 'adversarial'] as const)
      expect(detailsOf(exchangeOf(answer), method)).toEqual([
        'reasoner · 2 tokens',
        'Step 1: higher than 99.0 % of ordinary steps, flagged from 98 %',
        'Answer: higher than 99.0 % of ordinary answers, flagged from 98 %',
      ]);
  });
});
