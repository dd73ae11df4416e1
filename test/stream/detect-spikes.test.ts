import { describe, it } from 'vitest';
import { detectSpikes, type GuardEvent, type SpikeEvent } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { expectMarbles } from '../support/marbles.js';

const options = { method: 'nll', rate: 0.1, calibrated: true } as const;

const spike = (index: number, risk: number): SpikeEvent => ({
  type: 'spike.detected',
  index,
  method: 'nll',
  score: 4,
  risk,
  calibrated: true,
});

const inputs: Record<string, GuardEvent> = {
  t: tokenEvent(0),
  i: tokenEvent(1, { inserted: true }),
  a: scoreEvent(0, { scores: { nll: 4 }, risk: { nll: 0.95 } }),
  e: scoreEvent(0, { scores: { nll: 4 }, risk: { nll: 0.9 } }),
  b: scoreEvent(1, { scores: { nll: 4 }, risk: { nll: 1 } }),
  l: scoreEvent(0, { scores: { nll: 4 }, risk: { nll: 0.89 } }),
  o: scoreEvent(0, { scores: { nll: 4, entropy: 4 }, risk: { nll: 0.5, entropy: 1 } }),
  u: scoreEvent(0, { scores: { nll: 4 } }),
  s: scoreEvent(0, { skipped: ['nll'], risk: {} }),
  f: scoreEvent(0, { pass: 'final', scores: { nll: 4 }, risk: { nll: 1 } }),
  d: doneEvent(),
};

describe('detectSpikes', () => {
  it.each([
    { rule: 'adds a spike right after its score', source: '-ta---d|', expected: '-t(aA)d|' },
    { rule: 'counts a risk of exactly 1 − rate', source: '-te---d|', expected: '-t(eE)d|' },
    { rule: 'adds none for an ordinary score', source: '-tld|', expected: '-tld|' },
    { rule: 'looks at its method only', source: '-tod|', expected: '-tod|' },
    { rule: 'adds none for what is not rated', source: '-tusd|', expected: '-tusd|' },
    { rule: 'adds none for a score of the finished text', source: '-tfd|', expected: '-tfd|' },
    { rule: 'adds none for an inserted token', source: '-tibd|', expected: '-tibd|' },
    { rule: 'passes errors on', source: '-t#', expected: '-t#' },
  ])('$rule', ({ source, expected }) => {
    const outputs = { ...inputs, A: spike(0, 0.95), E: spike(0, 0.9) };
    expectMarbles((events) => events.pipe(detectSpikes(options)), { source, expected, inputs, outputs });
  });
});
