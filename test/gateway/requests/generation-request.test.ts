import { describe, expect, it } from 'vitest';
import { chatSchema, parse, textRequest } from '#gateway/requests/generation-request.js';

const body = { model: 'm', messages: [{ role: 'user', content: 'x' }] };
const many = (item: unknown) => Array.from({ length: 50_000 }, () => item);
const fields = (value: unknown) => Object.fromEntries(many(value).map((each, i) => [`k${i}`, each]));

describe('a request with very many faults', () => {
  it.each([
    ['messages', { messages: many(0) }],
    ['messages without fields', { messages: many({}) }],
    ['parts', { messages: [{ role: 'user', content: many(0) }] }],
    ['parts of many messages', { messages: many({ role: 'user', content: [0, 0, 0, 0] }).slice(0, 1000) }],
    ['methods', { guard: { methods: many('x') } }],
    ['stops', { stop: many(0) }],
  ])('has few of them written down: %s', (_name, changes) => {
    const { success, error } = chatSchema.safeParse({ ...body, ...changes });
    expect(success).toBe(false);
    // Of a union each choice has its own list within an issue.
    expect(JSON.stringify(error?.issues).length).toBeLessThan(2000);
  });
});

/** What a model that takes text alone says of it. */
const asText = (changes: object) => () => textRequest(parse(chatSchema, { ...body, ...changes }));

describe('a request for a model that takes text alone', () => {
  it('is refused for what an upstream would judge itself', () => {
    expect(asText({ metadata: fields(0) })).toThrow('metadata: must have at most 16 fields');
    expect(asText({ metadata: Object.fromEntries(Array(16).fill('x').entries()) })).not.toThrow();
    expect(asText({ temperature: 3 })).toThrow('temperature');
    expect(asText({ tools: [{}] })).toThrow('tools: is not supported');
    expect(asText({ mood: 1 })).toThrow(/^mood: unknown field$/);
    expect(asText({ temprature: 1 })).toThrow('temprature: unknown field; did you mean temperature?');
    expect(asText({ action: 'stop' })).toThrow('action: unknown field; it belongs at guard.action');
    expect(asText({ guard: { window: 32 } })).toThrow('; it belongs at guard.scoring.window');
    expect(asText({ guard: { actoin: 'stop' } })).toThrow(
      'guard.actoin: unknown field; did you mean action?',
    );
    expect(asText({ messages: [{ role: 'tool', content: 'x' }] })).toThrow('messages[0].role');
    expect(asText({ messages: [...body.messages, { role: 'user' }] })).toThrow('messages[1].content');
  });

  it('has the parts of a text joined', () => {
    const messages = [{ role: 'developer', content: Array(2).fill({ type: 'text', text: 'a' }) }];
    expect(asText({ messages })().messages).toEqual([{ role: 'system', content: 'aa' }]);
  });
});

describe('the lists of a request', () => {
  const part = { type: 'text', text: 'a' };
  const messages = (content: unknown) => ({ messages: [{ role: 'user', content }] });

  it.each([
    ['parts', 1000, messages(Array(1000).fill(part)), messages(Array(1001).fill(part))],
    [
      'messages',
      1000,
      { messages: Array(1000).fill(body.messages[0]) },
      { messages: Array(1001).fill(body.messages[0]) },
    ],
    ['stops', 256, { stop: Array(256).fill('x') }, { stop: Array(257).fill('x') }],
    [
      'methods',
      8,
      { guard: { methods: Array(8).fill('nll') } },
      { guard: { methods: Array(9).fill('nll') } },
    ],
  ])('have a bound: %s, %d', (_name, _most, good, bad) => {
    expect(chatSchema.safeParse({ ...body, ...good }).success).toBe(true);
    expect(chatSchema.safeParse({ ...body, ...bad }).success).toBe(false);
  });

  it('name the item that is wrong', () => {
    const wrong = { ...body, messages: [body.messages[0], { role: 'user', content: 7 }, 7] };
    expect(chatSchema.safeParse(wrong).error?.issues[0]?.path).toEqual(['messages', 1, 'content']);
  });
});
