import { describe, expect, it } from 'vitest';
import { ProtocolError, readEvent } from '#client/protocol.js';
import { rolledBack, VERDICT } from './fake-server.js';

const place = { response_id: 'resp-1', offset: 3 };
const parse = (message: unknown) => readEvent(JSON.stringify(message));

describe('reading a message of the server', () => {
  it('reads the events of PROTOCOL.md', () => {
    for (const event of rolledBack()) expect(parse(event)).toEqual(event);
    const failure = { message: 'gone', type: 'server_error', param: null, code: 'engine_crashed' };
    for (const event of [
      { type: 'error', ...place, error: failure },
      { type: 'heartbeat' },
      { type: 'generation.resumed', response_id: 'resp-1', recovered: false },
      { type: 'scorer.mismatch', ...place, tokens: 20, difference: 1.5, tolerance: 0.1 },
    ]) {
      expect(parse(event)).toEqual(event);
    }
  });

  it('leaves out what it does not know of an event', () => {
    const token = { type: 'token.delta', ...place, index: 0, id: null, text: 'So', logprob: null };
    expect(parse({ ...token, more: 1 })).toEqual(token);
  });

  it('keeps the place of event types of a newer server', () => {
    expect(parse({ type: 'step.new', ...place, more: 1 })).toEqual({ type: 'unknown', ...place });
    expect(parse({ type: 'server.new' })).toEqual({ type: 'unknown' });
    expect(parse({ type: 'toString' })).toEqual({ type: 'unknown' });
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
    ['a risk beyond 1', JSON.stringify({ ...rolledBack()[6], risk: 1.5 })],
  ])('refuses %s', (_, frame) => {
    expect(() => readEvent(frame)).toThrow(ProtocolError);
  });
});

it('reads a verdict of a server that sends no advice', () => {
  const { advice: _, ...verdict } = VERDICT;
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const place = { type: 'generation.done', response_id: 'resp-1', offset: 9 };
  const event = { ...place, finish_reason: 'stop', usage, verdict };
  expect(readEvent(JSON.stringify(event))).toEqual(event);
});
