import { describe, expect, it } from 'vitest';
import { lengthOf } from '#gateway/models/request-prompt.js';
import { createSchema } from '#gateway/requests/generation-request.js';

const request = (fields: object) =>
  createSchema.parse({
    type: 'generation.create',
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });

describe('the length of a response', () => {
  it('is what was asked for, and all that there is room for if nothing was', () => {
    expect(lengthOf(request({ max_tokens: 10 }), 100)).toEqual({ maxTokens: 10, warnings: [] });
    expect(lengthOf(request({}), 100)).toEqual({ maxTokens: 100, warnings: [] });
    expect(lengthOf(request({}), 100, 50)).toEqual({ maxTokens: 50, warnings: [] });
  });

  it.each(['max_tokens', 'max_completion_tokens'])('is refused above the room by default (%s)', (field) => {
    const asked = request({ [field]: 101 });
    expect(() => lengthOf(asked, 100)).toThrow(`${field}: 101 exceeds the 100 tokens left`);
  });

  it('is lowered with clamp, which is said', () => {
    const asked = request({ max_tokens: 101, clamp: true });
    expect(lengthOf(asked, 100)).toEqual({
      maxTokens: 100,
      warnings: ['max_tokens: lowered from 101 to the 100 tokens left in the context after the prompt'],
    });
    expect(lengthOf(request({ max_tokens: 100, clamp: true }), 100).warnings).toEqual([]);
  });
});
