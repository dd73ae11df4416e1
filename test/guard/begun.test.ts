import { describe, expect, it } from 'vitest';
import { begunOf } from '#src/guard/begun.js';
import type { FlaggedEvent, GuardEvent, StepEvent } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../support/events.js';

const guard = { delivery: 'immediate', reflection: 'Check.\n' } as const;
const rating = { method: 'nll', score: 1, risk: 1, calibrated: true } as const;
const span = (step: number, from: number, to: number) => ({ step, from, to, text: 'x' });
const done = (...at: [number, number, number]): StepEvent => ({
  ...{ type: 'step.done', ...span(...at), ...rating, flagged: false },
});
const flagged = (action: FlaggedEvent['action'], ...at: [number, number, number]): FlaggedEvent => ({
  ...{ type: 'step.flagged', ...span(...at), ...rating, action },
});
const tokens = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, i) => tokenEvent(from + i, { text: `${from + i} `, ...more }));
const started: GuardEvent = { type: 'rollback.started', rollback: 0, step: 1, from: 3, candidates: 2 };
const rolledBack = (outcome: 'kept' | 'replaced'): GuardEvent => ({
  ...{ type: 'rollback.done', rollback: 0, step: 1, outcome, chosen: outcome === 'kept' ? 0 : 1 },
  candidates: [2, 2, 4].map((count) => ({ text: 'x', tokens: count, score: 1 })),
});
const retracted = (from: number, count: number): GuardEvent => ({
  ...{ type: 'token.retracted', from, tokens: count },
});
const first = [...tokens(0, 3), done(0, 0, 3)];

describe('what a response goes on from', () => {
  it('is its first step that is not settled, after all tokens', () => {
    const events = [...first, ...tokens(3, 5), scoreEvent(3, {})];
    expect(begunOf(events, guard)).toMatchObject({
      ...{ place: { step: 1, from: 3 }, told: 5, verdict: null, interventions: 0, written: 5 },
      drawn: { from: 0, interventions: null },
    });
    expect(begunOf(events, guard)?.scores.has(3)).toBe(true);
    expect(begunOf(events, null)?.place).toEqual({ step: 0, from: 5 });
  });

  it('is an intervention that was announced, which does not count yet', () => {
    const events = [...first, ...tokens(3, 6), flagged('rollback', 1, 3, 5), started];
    expect(begunOf(events, guard)).toMatchObject({ interventions: 0, verdict: { step: 1 }, told: 6 });
  });

  it('counts those that are over, and knows which seed drew the last tokens', () => {
    const before = [...first, ...tokens(3, 6), flagged('rollback', 1, 3, 5), started];
    const kept = [...before, rolledBack('kept'), done(1, 3, 5)];
    expect(begunOf(kept, guard)).toMatchObject({ interventions: 1, drawn: { interventions: null } });
    expect(begunOf(kept, guard)?.written).toBe(6 + 2 + 4);
    const replaced = [...before, retracted(3, 3), ...tokens(3, 5), rolledBack('replaced'), done(1, 3, 5)];
    expect(begunOf(replaced, guard)).toMatchObject({ drawn: { from: 5, interventions: 1 }, written: 8 + 4 });
  });

  it('is a reflection that is inserted again, while nothing was drawn after it', () => {
    const reflected = [...first, ...tokens(3, 5), flagged('reflect', 1, 3, 5), done(1, 3, 5)];
    const begun = { place: { step: 1, from: 3 }, interventions: 0, verdict: { step: 1 }, written: 5 };
    expect(begunOf(reflected, guard)).toMatchObject({ ...begun, told: 5 });
    const inserted = [...reflected, ...tokens(5, 7, { inserted: true })];
    expect(begunOf(inserted, guard)).toMatchObject({ ...begun, told: 7, tokens: { length: 5 } });
    expect(begunOf([...inserted, ...tokens(7, 8)], guard)).toMatchObject({
      ...{ place: { step: 2, from: 5 }, interventions: 1, drawn: { from: 7, interventions: 1 } },
    });
  });

  it.each<readonly [string, readonly GuardEvent[]]>([
    ['has ended', [...first, doneEvent('stop', 3)]],
    ['lacks a token', [...first, ...tokens(4, 5)]],
    ['lacks tokens of a flagged step', [...first, ...tokens(3, 4), flagged('stop', 1, 3, 5)]],
    [
      'was told half of a rollback',
      [...first, ...tokens(3, 6), flagged('rollback', 1, 3, 5), retracted(3, 3)],
    ],
    [
      'was told a rollback without its step',
      [...first, ...tokens(3, 6), flagged('rollback', 1, 3, 5), started, rolledBack('kept')],
    ],
    [
      'was told half of a reflection whose first line is a step',
      [
        ...[...first, ...tokens(3, 5), flagged('reflect', 1, 3, 5), done(1, 3, 5)],
        ...[...tokens(5, 7, { inserted: true }), done(2, 5, 6)],
      ],
    ],
  ])('is nothing if it %s', (_, events) => {
    expect(begunOf(events, guard)).toBeNull();
  });

  it('is nothing if half of a step that is held back was told', () => {
    const held = { ...guard, delivery: 'held' } as const;
    expect(begunOf(first, held)).toMatchObject({ place: { step: 1, from: 3 } });
    expect(begunOf([...first, ...tokens(3, 4)], held)).toBeNull();
  });
});
