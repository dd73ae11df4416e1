import fc from 'fast-check';
import { from, lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  type FlaggedEvent,
  type GuardEvent,
  holdBack,
  type Rating,
  type RetractedEvent,
  type RollbackDoneEvent,
  type RollbackStartedEvent,
  type StepEvent,
} from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';
import { expectMarbles } from '../support/marbles.js';

const rating: Rating = { method: 'nll', score: 1, risk: 0.5, calibrated: true };
const stepDone = (step: number, from: number, to: number): StepEvent => ({
  type: 'step.done',
  step,
  from,
  to,
  text: `step ${step}`,
  ...rating,
  flagged: false,
});
const flagged = (step: number, from: number, to: number, action: FlaggedEvent['action']): FlaggedEvent => ({
  type: 'step.flagged',
  step,
  from,
  to,
  text: `step ${step}`,
  ...rating,
  action,
});
const retracted = (from: number, tokens: number): RetractedEvent => ({
  type: 'token.retracted',
  from,
  tokens,
});
const started = (step: number, from: number): RollbackStartedEvent => ({
  type: 'rollback.started',
  rollback: 0,
  step,
  from,
  candidates: 2,
});
const rolledBack = (step: number): RollbackDoneEvent => ({
  type: 'rollback.done',
  rollback: 0,
  step,
  outcome: 'replaced',
  chosen: 1,
  candidates: [],
});

describe('holdBack', () => {
  const inputs = {
    a: tokenEvent(0),
    b: tokenEvent(1),
    c: tokenEvent(2),
    e: tokenEvent(1, { text: 'anew' }),
    A: scoreEvent(0, {}),
    B: scoreEvent(1, {}),
    y: stepDone(0, 0, 2),
    z: stepDone(1, 2, 3),
    l: flagged(0, 0, 2, 'annotate'),
    k: flagged(1, 2, 3, 'rollback'),
    q: flagged(1, 2, 3, 'stop'),
    r: retracted(1, 2),
    o: retracted(2, 1),
    g: started(0, 1),
    h: rolledBack(0),
    G: started(1, 2),
    H: rolledBack(1),
    d: doneEvent('stop', 3),
    x: doneEvent('content_filter', 3),
    s: scoreEvent(0, { pass: 'final' }),
  } satisfies Record<string, GuardEvent>;
  const heldFor = (step: StepEvent, tokens: number, ms: number): StepEvent => ({
    ...step,
    held: { tokens, ms },
  });
  const filtered = (completionTokens: number): GuardEvent => doneEvent('content_filter', completionTokens);

  it.each<{
    rule: string;
    source: string;
    expected: string;
    as?: Partial<Record<keyof typeof inputs, GuardEvent>>;
    error?: Error;
  }>([
    {
      rule: 'releases a step once it is done, and says how long that took',
      source: '-aAbcB-y-------z----d|',
      expected: '-------(aAbBy)-(cz)-d|',
      as: { y: heldFor(inputs.y, 2, 6), z: heldFor(inputs.z, 0, 11) },
    },
    {
      rule: 'passes scores of what is released',
      source: '-aby----s-',
      expected: '---(aby)s-',
      as: { y: heldFor(inputs.y, 1, 2) },
    },
    {
      rule: 'drops retracted tokens with their scores, and counts from when the step first came',
      source: '-aAbB-crgehBcy---------z---d|',
      expected: '-------------(aAgehBy)-(cz)d|',
      as: { y: heldFor(inputs.y, 4, 12), z: heldFor(inputs.z, 0, 11) },
    },
    {
      rule: 'keeps what is said about a step with the step',
      source: '-abcly-----koGcHz------d|',
      expected: '-----(ably)-----(kGcHz)d|',
      as: { y: heldFor(inputs.y, 2, 4), z: heldFor(inputs.z, 1, 13) },
    },
    {
      rule: 'releases nothing of a later step',
      source: '-abcky----z-----d|',
      expected: '-----(aby)(ckz)-d|',
      as: { y: heldFor(inputs.y, 2, 4), z: heldFor(inputs.z, 0, 7) },
    },
    {
      rule: 'drops what is held when the guard ends the generation, and says why without its text',
      source: '-aAbBy------ckx---|',
      expected: '-----(aAbBy)--(kx)|',
      as: { y: heldFor(inputs.y, 1, 4), k: { ...inputs.k, text: '' }, x: filtered(2) },
    },
    {
      rule: 'does not release the step that the guard stops at',
      source: '-aby----cqzx---|',
      expected: '---(aby)---(qx)|',
      as: { y: heldFor(inputs.y, 1, 2), q: { ...inputs.q, text: '' }, x: filtered(2) },
    },
    {
      rule: 'shows nothing of a first step that is stopped at',
      source: '-abx|',
      expected: '---x|',
      as: { x: filtered(0) },
    },
    {
      rule: 'releases the rest when the generation ends of itself',
      source: '-abd----|',
      expected: '---(abd)|',
    },
    { rule: 'drops what is held on an error', source: '-ab#', expected: '---#' },
    { rule: 'drops what is held on completion without generation.done', source: '-ab|', expected: '---|' },
    {
      rule: 'errors if a released token is retracted',
      source: '-aby----r',
      expected: '---(aby)#',
      as: { y: heldFor(inputs.y, 1, 2) },
      error: new RangeError('holdBack: released token 1 is retracted'),
    },
    {
      rule: 'errors if a token is missing',
      source: '-ac',
      expected: '--#',
      error: new RangeError('holdBack: token 2 comes instead of 1'),
    },
    {
      rule: 'errors if a step is done before its tokens are there',
      source: '-ay',
      expected: '--#',
      error: new RangeError('holdBack: step 0 does not hold the next of the tokens that came'),
    },
  ])('$rule', ({ source, expected, as, error }) => {
    expectMarbles<GuardEvent, GuardEvent>((events, now) => events.pipe(holdBack({ now })), {
      source,
      expected,
      inputs,
      outputs: { ...inputs, ...as },
      ...(error && { error }),
    });
  });

  it('shows, in order and without gaps, exactly the tokens of the text as it stands', () => {
    return fc.assert(
      fc.asyncProperty(guardedText, fc.boolean(), async ({ events, tokens }, stop) => {
        const end = stop ? doneEvent('content_filter', -1) : doneEvent('stop', tokens.length);
        const shown = await lastValueFrom(from([...events, end]).pipe(holdBack({ now: () => 0 }), toArray()));
        const texts = shown.flatMap((event) => (event.type === 'token.delta' ? [event.text] : []));
        expect(texts).toEqual(tokens.slice(0, texts.length));
        expect(shown.at(-1)).toMatchObject({ usage: { completionTokens: texts.length } });
        if (!stop) expect(texts).toHaveLength(tokens.length);
        expect(shown.map(({ type }) => type)).not.toContain('token.retracted');
        expect(problems(shown)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

/** What a reader of the events would trip over. */
function problems(events: readonly GuardEvent[]): string[] {
  const found: string[] = [];
  let tokens = 0;
  let scores = 0;
  let steps = 0;
  for (const event of events) {
    if (event.type === 'token.delta' && event.index !== tokens++) found.push(`token ${event.index}`);
    if (event.type === 'score.delta' && (event.index !== scores++ || event.index >= tokens)) {
      found.push(`score ${event.index}`);
    }
    if ('step' in event && event.step !== steps) found.push(`${event.type} of step ${event.step}`);
    if (event.type !== 'step.done') continue;
    if (event.step !== steps++) found.push(`step ${event.step}`);
    if (event.to !== tokens || event.to !== scores) found.push(`step ${event.step} ends at ${event.to}`);
  }
  return found;
}

/** How one step came about. */
interface StepPlan {
  /** Attempts that are rolled back to their token `keep`, and then the one that stays: how many tokens each writes. */
  readonly attempts: readonly { readonly keep: number; readonly tokens: number }[];
  /** Tokens of the next step that are written before the verdict. */
  readonly ahead: number;
}

const plan: fc.Arbitrary<StepPlan> = fc.record({
  attempts: fc.array(fc.record({ keep: fc.nat(4), tokens: fc.integer({ min: 1, max: 5 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
  ahead: fc.nat(3),
});

/** The events of a guard that rolls back, and the texts of the tokens that stay. */
const guardedText = fc.array(plan, { maxLength: 6 }).map((plans) => {
  const events: GuardEvent[] = [];
  const tokens: string[] = [];
  let written = 0;
  let scored = 0;
  const write = (to: number): void => {
    while (tokens.length < to) {
      const text = `token ${written++}`;
      events.push(tokenEvent(tokens.length, { text }));
      tokens.push(text);
    }
  };
  const scoreTo = (to: number): void => {
    for (; scored < to; scored++) events.push(scoreEvent(scored, {}));
  };

  let first = 0;
  for (const [step, { attempts, ahead }] of plans.entries()) {
    for (const [i, { keep, tokens: count }] of attempts.entries()) {
      const to = tokens.length + count;
      const stays = i === attempts.length - 1;
      write(stays && step === plans.length - 1 ? to : to + ahead);
      scoreTo(to);
      if (stays) {
        events.push(stepDone(step, first, to));
        first = to;
      } else {
        const cut = Math.min(first + keep, to - 1);
        events.push(flagged(step, first, to, 'rollback'), started(step, cut));
        events.push(retracted(cut, tokens.length - cut), rolledBack(step));
        tokens.length = scored = cut;
      }
    }
  }
  return { events, tokens };
});
