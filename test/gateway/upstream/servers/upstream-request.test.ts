import { describe, expect, it } from 'vitest';
import { createSchema } from '#gateway/requests/generation-request.js';
import { requestOf, topLogprobsOf, topLogprobsWarnings } from '#gateway/upstream/servers/upstream-request.js';
import { askedOf } from '../../../support/answers.js';

const request = (fields: object) =>
  createSchema.parse({
    type: 'generation.create',
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });
const server = (logprobs: number | null) => ({ tokenIds: 'none', logprobs, resume: 'none' }) as const;

describe('the alternatives that an upstream is asked for', () => {
  it('are refused above what it returns', () => {
    expect(topLogprobsOf(request({ top_logprobs: 2 }), server(2))).toBe(2);
    expect(() => topLogprobsOf(request({ top_logprobs: 5 }), server(2))).toThrow('returns at most 2');
    expect(() => topLogprobsOf(request({ top_logprobs: 5 }), server(null))).toThrow('no log-probabilities');
  });

  it('are lowered with clamp, which is said', () => {
    const asked = request({ top_logprobs: 5, clamp: true });
    expect([20, 2, null].map((most) => topLogprobsOf(asked, server(most)))).toEqual([5, 2, 0]);
    expect(topLogprobsWarnings(asked, 2)).toEqual([
      'top_logprobs: lowered from 5 to 2, all that the upstream returns',
    ]);
    expect(topLogprobsWarnings(asked, 5)).toEqual([]);
  });

  it('are not passed on unread where they may be lowered, nor is clamp', () => {
    const { fields } = requestOf(askedOf(request({ top_logprobs: 5, clamp: true })));
    expect(fields).not.toHaveProperty('top_logprobs');
    expect(fields).not.toHaveProperty('clamp');
    expect(requestOf(askedOf(request({ top_logprobs: 5 }))).fields).toHaveProperty('top_logprobs', 5);
  });
});
