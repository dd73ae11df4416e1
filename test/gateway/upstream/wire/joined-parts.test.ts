import { describe, expect, it } from 'vitest';
import { JoinedParts } from '#gateway/upstream/wire/joined-parts.js';

type Json = Readonly<Record<string, unknown>>;

const inDelta = (delta: Json): Json => ({ choices: [{ index: 0, delta }] });

/** How many chunks it takes. */
function taken(shape: (i: number) => Json): number | string {
  const joined = new JoinedParts();
  for (let i = 0; i < 6000; i++) {
    try {
      joined.add(shape(i));
    } catch (error) {
      expect(error).toMatchObject({ code: 'upstream_error' });
      return String(error).replace(/.*more than/, 'more than');
    }
  }
  return 6000;
}

describe('an answer has no more than a chunk may have', () => {
  const name = (i: number): Json => ({ [`n${i}`]: 1 });
  const names = 'more than 4096 names of fields in one answer';
  const indices = 'more than 4096 choices or tool calls in one answer';

  it.each<[string, (i: number) => Json]>([
    ['beside the choices', name],
    ['of a choice', (i) => ({ choices: [{ index: 0, ...name(i) }] })],
    ['of another choice', (i) => ({ choices: [{ index: 1, ...name(i) }] })],
    ['of a delta', (i) => inDelta(name(i))],
    ['of what is within', (i) => inDelta({ a: { b: name(i) } })],
    ['of what has no index', (i) => inDelta({ tool_calls: [name(i)] })],
    ['of a call', (i) => inDelta({ tool_calls: [{ index: 0, function: name(i) }] })],
    ['of log-probabilities', (i) => ({ choices: [{ index: 0, logprobs: name(i) }] })],
  ])('names %s', (_, shape) => {
    expect(taken(shape)).toBe(names);
  });

  it.each<[string, (i: number) => Json]>([
    ['choices', (i) => ({ choices: [{ index: i }] })],
    ['tool calls', (i) => inDelta({ tool_calls: [{ index: i }] })],
    ['other items', (i) => inDelta({ a: { b: [{ index: -i }] } })],
  ])('indices of %s', (_, shape) => {
    expect(taken(shape)).toBe(indices);
  });

  it('of what is not joined it may have as many as it likes', () => {
    const logprobs = (i: number): Json => ({ top_logprobs: [{ ...name(i), at: [{ index: i }] }, i] });
    expect(taken((i) => ({ choices: [{ index: 0, logprobs: logprobs(i) }] }))).toBe(6000);
    expect(taken((i) => ({ usage: name(i), timings: name(i), event: { response: name(i) } }))).toBe(6000);
  });
});
