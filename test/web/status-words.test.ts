import { expect, it } from 'vitest';
import { EMPTY_ANSWER } from '#client/answer.js';
import { statusWords } from '#web/answer/status-words.js';
import { VERDICT } from '../client/fake-server.js';

const verdict = { ...VERDICT, flagged: true, risk: 0.99 };

it.each([
  [null, 'small · 0 tokens · writing, scores 0 tokens behind'],
  [
    { to: 'large', failed: null, verdict },
    'small, flagged · answered by large · 0 tokens · writing, scores 0 tokens behind',
  ],
  [
    { to: 'large', failed: 'upstream_unreachable', verdict },
    'small, flagged · large did not answer (upstream_unreachable) · 0 tokens · writing, scores 0 tokens behind',
  ],
])('says which model wrote the answer: %j', (escalation, words) => {
  const answer = { ...EMPTY_ANSWER, model: 'small', phase: 'streaming', escalation } as const;
  const exchange = { model: 'small', events: [], leftOut: 0 };
  expect(statusWords({ id: 'a', turn: 'a', question: '', answer, ...exchange }, 'nll', true)).toBe(words);
});

it.each([
  [true, 'small · another answer, with which 2 of 3 agree · 0 tokens · writing, scores 0 tokens behind'],
  [false, 'small · this answer, with which 2 of 3 agree · 0 tokens · writing, scores 0 tokens behind'],
])('says how answers have voted: %j', (replaced, words) => {
  const vote = { answers: 3, agreed: 2, replaced, failed: null, verdict };
  const answer = { ...EMPTY_ANSWER, model: 'small', phase: 'streaming', vote } as const;
  const exchange = { model: 'small', events: [], leftOut: 0 };
  expect(statusWords({ id: 'a', turn: 'a', question: '', answer, ...exchange }, 'nll', true)).toBe(words);
});
