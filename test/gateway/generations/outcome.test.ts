import { expect, it } from 'vitest';
import { Outcome } from '#gateway/generations/outcome.js';
import type { FlaggedEvent, GuardEvent, StepEvent, Verdict } from '#src/index.js';
import { closedEvent, doneEvent, tokenEvent } from '../../support/events.js';

const rating = { method: 'nll', score: 3, risk: 0.99, calibrated: true } as const;
const flagged: StepEvent = { ...closedEvent(0, 0, 2), type: 'step.done', ...rating, flagged: true };
const stopped: FlaggedEvent = { ...closedEvent(0, 0, 2), type: 'step.flagged', ...rating, action: 'stop' };
const verdict: Verdict = {
  flagged: true,
  risk: 0.99,
  rate: 0.02,
  flaggedSteps: 1,
  steps: 1,
  unscoredTokens: 0,
  calibrated: true,
  reason: null,
};
const escalated = { type: 'generation.escalated', to: 'large', failed: null, risk: 0.99, guard: {} } as const;
const voted = {
  type: 'generation.voted',
  answers: 3,
  agreed: 2,
  replaced: true,
  failed: null,
  risk: 1,
} as const;

/** The fields that a log line has. */
function fieldsOf(events: readonly GuardEvent[], policy: string | null = null): unknown {
  const outcome = new Outcome(policy);
  for (const event of events) outcome.add(event);
  return JSON.parse(JSON.stringify(outcome.fields));
}

it('has the counts, the verdict and the policy of an answer', () => {
  const events = [tokenEvent(0), tokenEvent(1), flagged, { ...doneEvent('stop', 2), verdict }];
  expect(fieldsOf(events, 'house')).toEqual({
    policy: 'house',
    prompt_tokens: 1,
    completion_tokens: 2,
    finish_reason: 'stop',
    flagged: true,
    flagged_steps: 1,
  });
});

it('has what there is of an answer that was cut off', () => {
  const events: GuardEvent[] = [
    tokenEvent(0),
    tokenEvent(1),
    tokenEvent(2),
    { type: 'token.retracted', from: 2, tokens: 1 },
    flagged,
  ];
  expect(fieldsOf(events)).toEqual({ completion_tokens: 2, flagged_steps: 1 });
});

it('tells of a stop by the guard', () => {
  const end = { ...doneEvent('content_filter', 2), verdict: { ...verdict, reason: 'stopped' as const } };
  expect(fieldsOf([stopped])).toMatchObject({ flagged_steps: 1, reason: 'stopped' });
  expect(fieldsOf([stopped, end])).toMatchObject({
    finish_reason: 'content_filter',
    flagged: true,
    flagged_steps: 1,
    reason: 'stopped',
  });
});

it('tells of another answer, whose tokens and steps count', () => {
  const first = [tokenEvent(0), tokenEvent(1), flagged];
  expect(fieldsOf([...first, escalated, tokenEvent(0)])).toEqual({
    completion_tokens: 1,
    flagged_steps: 0,
    escalation: { to: 'large', failed: null },
  });
  expect(fieldsOf([...first, voted, tokenEvent(0)])).toEqual({
    completion_tokens: 1,
    flagged_steps: 0,
    vote: { answers: 3, agreed: 2, replaced: true, failed: null },
  });
  const failed = { ...escalated, failed: 'upstream_unreachable' };
  expect(fieldsOf([...first, failed])).toMatchObject({ completion_tokens: 2, flagged_steps: 1 });
});
