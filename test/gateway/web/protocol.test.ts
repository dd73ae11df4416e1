import { describe, expect, it } from 'vitest';
import { ProtocolError, parseEvent } from '#gateway/web/protocol.js';

const place = { response_id: 'gen-1', offset: 3 };
const parse = (message: unknown) => parseEvent(JSON.stringify(message));

describe('reading a message of the server', () => {
  it('reads the events of PROTOCOL.md', () => {
    expect(parse({ type: 'token.delta', ...place, index: 2, id: 5, text: ' 4', logprob: -0.1 })).toEqual({
      type: 'token.delta',
      ...place,
      index: 2,
      id: 5,
      text: ' 4',
      logprob: -0.1,
    });
    const rival = { id: 7, text: '7', before: 0.1, after: 0.2 };
    const scores = { adversarial: 0.01, nll: 0.1, entropy: 0.2, margin: 0.3 };
    const scored = { type: 'score.delta', ...place, index: 2, pass: 'stream', scores, rival };
    expect(parse(scored)).toEqual({ ...scored, skipped: [] });
    const failure = { message: 'gone', type: 'server_error', param: null, code: 'engine_crashed' };
    expect(parse({ type: 'error', ...place, error: failure })).toEqual({
      type: 'error',
      response_id: 'gen-1',
      request_id: null,
      message: 'gone',
      code: 'engine_crashed',
    });
  });

  it('reads a score without the methods that were not computed, and without a rival', () => {
    const event = parse({
      type: 'score.delta',
      ...place,
      index: 0,
      pass: 'stream',
      scores: { nll: 1, new: 2 },
    });
    expect(event).toMatchObject({ scores: { nll: 1 }, rival: null });
    expect(event).not.toHaveProperty('scores.new');
  });

  it('reads which methods were skipped, of those that it knows', () => {
    const event = { type: 'score.delta', ...place, index: 0, pass: 'stream', scores: { nll: 0 } };
    expect(parse({ ...event, skipped: ['adversarial', 'new'] })).toMatchObject({
      skipped: ['adversarial'],
      rival: null,
    });
  });

  it('keeps the place of event types of a newer server, and skips those that have none', () => {
    expect(parse({ type: 'step.new', ...place, more: 1 })).toEqual({ type: 'unknown', ...place });
    expect(parse({ type: 'server.new' })).toBeNull();
  });

  it.each([
    ['no JSON', 'hello'],
    ['no object', '[1]'],
    ['no type', '{}'],
    [
      'a token without a text',
      JSON.stringify({ type: 'token.delta', ...place, index: 0, id: 1, logprob: 0 }),
    ],
    ['a token without its place', '{"type":"token.delta","index":0,"id":1,"text":"a","logprob":0}'],
    [
      // NaN and infinities become null in JSON: such a score must not pass for "not computed".
      'a score that is no number',
      JSON.stringify({
        type: 'score.delta',
        ...place,
        index: 0,
        pass: 'stream',
        scores: { nll: Number.NaN },
      }),
    ],
    ['an unknown end', JSON.stringify({ type: 'generation.done', ...place, finish_reason: 'tired' })],
  ])('refuses %s', (_, frame) => {
    expect(() => parseEvent(frame)).toThrow(ProtocolError);
  });
});
