import { describe, it } from 'vitest';
import type { GenerationEvent, WrittenEvent } from '#src/stream/events.js';
import { scoreBy } from '#src/stream/written-scores.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { expectMarbles } from '../support/marbles.js';

const inputs: Record<string, WrittenEvent> = {
  t: tokenEvent(0, { logprob: -2 }),
  r: tokenEvent(1, { logprob: -3, part: 'reasoning' }),
  n: tokenEvent(2, { logprob: null }),
  d: doneEvent(),
};
const outputs: Record<string, GenerationEvent> = {
  ...inputs,
  T: scoreEvent(0, { scores: { nll: 2 } }),
  R: scoreEvent(1, { scores: { nll: 3 }, part: 'reasoning' }),
  N: scoreEvent(2, { scores: {}, missing: ['nll'] }),
};

describe('scoreBy', () => {
  it.each([
    { rule: 'adds a score right after its token', source: '-t---d|', expected: '-(tT)d|' },
    { rule: 'says of which part the token is', source: '-r---d|', expected: '-(rR)d|' },
    { rule: 'says what cannot be computed', source: '-n---d|', expected: '-(nN)d|' },
    { rule: 'passes errors on', source: '-t---#', expected: '-(tT)#' },
  ])('$rule', ({ source, expected }) => {
    const operator = scoreBy(({ logprob }) =>
      logprob === null ? { scores: {}, missing: ['nll'] } : { scores: { nll: -logprob }, missing: [] },
    );
    expectMarbles((events) => events.pipe(operator), { source, expected, inputs, outputs });
  });
});
