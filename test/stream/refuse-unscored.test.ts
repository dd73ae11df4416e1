import { from } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type GuardEvent, refuseUnscored, UnscoredError, type Verdict } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { expectMarbles } from '../support/marbles.js';

const scored = (index: number) => scoreEvent(index, { scores: { nll: index } });
const verdict = (reason: Verdict['reason']): Verdict => ({
  ...{
    flagged: null,
    risk: null,
    rate: 0.02,
    flaggedSteps: 0,
    steps: 1,
    unscoredTokens: 0,
    calibrated: true,
  },
  reason,
});

const inputs: Readonly<Record<string, GuardEvent>> = {
  a: tokenEvent(0),
  b: tokenEvent(1),
  c: tokenEvent(2),
  '0': scored(0),
  '1': scored(1),
  '2': scored(2),
  // Of a method that steps are not judged by; behind; not told.
  o: scoreEvent(1, { scores: { nll: 1 }, missing: ['margin'] }),
  l: scoreEvent(1, { skipped: ['nll'], reason: 'lag' }),
  m: scoreEvent(1, { missing: ['nll'] }),
  f: scoreEvent(1, { pass: 'final', missing: ['nll'] }),
  u: { type: 'upstream.delta', at: 0, chunk: {}, unscored: [] },
  x: { type: 'upstream.delta', at: 0, chunk: {}, unscored: ['tool_calls'] },
  r: { type: 'token.retracted', from: 1, tokens: 2 },
  d: doneEvent(),
  e: { ...doneEvent('content_filter'), verdict: verdict('stopped') },
};

/** What passes before the end, by the names of the events. */
function passed(source: string): { names: string; refused: UnscoredError['what'] | null } {
  let [names, refused]: [string, UnscoredError['what'] | null] = ['', null];
  const nameOf = (event: GuardEvent) => Object.entries(inputs).find(([, each]) => each === event)?.[0];
  from([...source].map((name) => inputs[name]!))
    .pipe(refuseUnscored({ method: 'nll' }))
    .subscribe({
      next: (event) => {
        names += nameOf(event);
      },
      error: (error: unknown) => {
        if (!(error instanceof UnscoredError)) throw error;
        refused = error.what;
      },
    });
  return { names, refused };
}

describe('refuseUnscored', () => {
  it('passes a token on when its score comes', () => {
    const source = 'a-0---b-1---d|';
    const expected = '--(a0)--(b1)d|';
    expectMarbles((events) => events.pipe(refuseUnscored({ method: 'nll' })), {
      source,
      expected,
      inputs,
      outputs: inputs,
    });
  });

  it.each<[rule: string, source: string, names: string]>([
    ['what waits behind a token passes after it, each with its score', 'abu01c2d', 'a0bu1c2d'],
    ['a token needs a score of the method alone', 'a0bod', 'a0bod'],
    ['a final score says nothing of it', 'a0b1fd', 'a0b1fd'],
    ['tokens that were not passed on are retracted without a word', 'a0bcrb1d', 'a0b1d'],
    ['the end of a response that the guard stopped passes, without tokens that wait', 'a0be', 'a0e'],
  ])('%s', (_rule, source, names) => {
    expect(passed(source)).toEqual({ names, refused: null });
  });

  it.each([
    ['all were passed on', 'a0b1c2r', 2],
    ['the last one waits', 'a0b1cr', 1],
  ])('counts the retracted tokens that were passed on: %s', (_rule, source, tokens) => {
    const told: GuardEvent[] = [];
    from([...source].map((name) => inputs[name]!))
      .pipe(refuseUnscored({ method: 'nll' }))
      .subscribe({ next: (event) => told.push(event), error: () => {} });
    expect(told.at(-1)).toEqual({ type: 'token.retracted', from: 1, tokens });
  });

  it('passes on what is written anew after a retraction', () => {
    const told: GuardEvent[] = [];
    from([...'a0b1c2rb1d'].map((name) => inputs[name]!))
      .pipe(refuseUnscored({ method: 'nll' }))
      .subscribe((event) => told.push(event));
    expect(told).toEqual([...'a0b1c2rb1d'].map((name) => inputs[name]));
  });

  it.each<[rule: string, source: string, names: string, what: UnscoredError['what']]>([
    ['a token that has none', 'a0bm', 'a0', ['tokens']],
    ['a token that scoring was too slow for', 'a0bl', 'a0', ['tokens']],
    ['a part whose tokens are not told', 'a0x', 'a0', ['tool_calls']],
    ['an end before all scores have come', 'a0bd', 'a0', ['tokens']],
  ])('errors before %s', (_rule, source, names, what) => {
    expect(passed(source)).toEqual({ names, refused: what });
  });
});
