import { describe, expect, it } from 'vitest';
import type { GenerationNews } from '#gateway/answers/answer-news.js';
import { ConfigError } from '#gateway/index.js';
import { messageOf } from '#gateway/webhooks/message.js';
import { checkWebhooks } from '#gateway/webhooks/webhooks.js';
import type { StepEvent, Verdict } from '#src/index.js';
import { flagMessage, verdictMessage } from '#tools/api/openapi-responses.js';
import { doneEvent } from '../../support/events.js';

const STEP: StepEvent = {
  type: 'step.done',
  step: 2,
  from: 16,
  to: 32,
  text: 'secret',
  method: 'adversarial',
  score: 12.5,
  risk: 0.99,
  calibrated: true,
  flagged: true,
};
const VERDICT: Verdict = {
  flagged: null,
  risk: null,
  rate: 0.05,
  flaggedSteps: 1,
  steps: 3,
  unscoredTokens: 4,
  calibrated: true,
  reason: 'unscored_tokens',
};
const about = { responseId: 'resp-7', model: 'm' };
const dataOf = (news: GenerationNews) => {
  const message = { ...messageOf(about, news), timestamp: new Date().toISOString() };
  const schema = message.type === 'flag' ? flagMessage : verdictMessage;
  return schema.parse(JSON.parse(JSON.stringify(message))).data;
};

describe('the message of', () => {
  it.each([
    ['a flagged step', STEP],
    [
      'one of tool calls, with a part that has no score',
      { ...STEP, part: 'tool_calls', unscored: 2 } as const,
    ],
  ])('%s has its scores and no text', (_, step) => {
    const { type: __, text: ___, flagged: ____, ...fields } = step;
    expect(dataOf({ type: 'flagged', step, action: 'rollback' })).toEqual({
      response_id: 'resp-7',
      model: 'm',
      ...fields,
      action: 'rollback',
    });
  });

  it('an answer has its verdict, as its last event has', () => {
    expect(dataOf({ type: 'done', event: { ...doneEvent('stop', 7), verdict: VERDICT } })).toEqual({
      response_id: 'resp-7',
      model: 'm',
      outcome: 'done',
      finish_reason: 'stop',
      error: null,
      usage: { prompt_tokens: 1, completion_tokens: 7, total_tokens: 8 },
      verdict: {
        flagged: null,
        risk: null,
        rate: 0.05,
        advice: 'check',
        flagged_steps: 1,
        steps: 3,
        unscored_tokens: 4,
        calibrated: true,
        reason: 'unscored_tokens',
      },
    });
  });

  it.each([
    ['no guard', { type: 'done', event: doneEvent('stop', 7) }, { outcome: 'done', finish_reason: 'stop' }],
    ['an error', { type: 'failed', code: 'engine_crashed' }, { outcome: 'failed', error: 'engine_crashed' }],
    ['a client that left', { type: 'cancelled' }, { outcome: 'cancelled', error: null }],
  ] as const)('an answer with %s has none', (_, news, fields) => {
    expect(dataOf(news)).toMatchObject({ ...fields, verdict: null });
  });

  it('a request that was refused does not exist', () => {
    expect(messageOf(about, { type: 'refused', code: 'overloaded' })).toBeNull();
  });
});

describe('a secret', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
  const check = (secret?: string) => () =>
    checkWebhooks([{ url: 'https://example.org', secret_env: 'SECRET', events: ['flag'] }], {
      ...(secret !== undefined && { SECRET: secret }),
    });

  it('is that of Standard Webhooks', () => {
    for (const bytes of [24, 64]) expect(check(`whsec_${base64(bytes)}`)).not.toThrow();
  });

  it.each([
    ['there is none', undefined],
    ['it is empty', ''],
    ['it has no prefix', base64(32)],
    ['it is too short', `whsec_${base64(23)}`],
    ['it is too long', `whsec_${base64(65)}`],
    ['it is not Base64', 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'],
  ])('is refused by the name of its variable, and not shown, where %s', (_, secret) => {
    expect(check(secret)).toThrow(ConfigError);
    expect(check(secret)).toThrow(
      /^webhooks\[0\]\.secret_env: the variable SECRET (is not set|must be whsec_)/,
    );
    if (secret) expect(check(secret)).not.toThrow(secret);
  });
});
