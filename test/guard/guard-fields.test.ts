import { describe, expect, it } from 'vitest';
import { guardOf, guardSchema } from '#src/guard/guard-fields.js';
import { checkGuard, DEFAULT_GUARD, DEFAULT_SCORING, type Guard } from '#src/index.js';

const judged = { methods: ['entropy' as const], method: 'entropy' as const };

describe('guardOf', () => {
  it('gives the default guard for no fields', () => {
    expect(guardOf({ ...guardSchema.parse({}), ...judged }, true)).toEqual(DEFAULT_GUARD);
  });

  it('carries every field over', () => {
    const fields = {
      per: 'answer',
      rate: 0.5,
      delivery: 'held',
      lag: 'skip',
      action: 'rollback',
      candidates: 3,
      max_rollbacks: 2,
    };
    expect(guardOf({ ...guardSchema.parse(fields), methods: ['margin'], method: 'margin' }, true)).toEqual({
      method: 'margin',
      per: 'answer',
      rate: 0.5,
      delivery: 'held',
      lag: 'skip',
      action: 'rollback',
      candidates: 3,
      maxRollbacks: 2,
    });
  });

  it.each([
    ['rollback', false, 'held'],
    ['rollback', true, 'immediate'],
    ['stop', false, 'immediate'],
  ])('%s where tokens can be taken back (%s) is %s', (action, canRetract, delivery) => {
    const fields = { ...guardSchema.parse({ action }), ...judged };
    expect(guardOf(fields, canRetract).delivery).toBe(delivery);
  });
});

describe('the lag of guardOf', () => {
  it.each([
    ['skip', {}, true, 'skip'],
    ['wait', {}, true, 'wait'],
    ['skip', { action: 'stop' }, false, 'skip'],
    ['skip', { lag: 'wait' }, true, 'wait'],
    ['wait', { lag: 'skip' }, true, 'skip'],
    ['skip', { delivery: 'held' }, true, 'wait'],
    ['skip', { action: 'rollback' }, true, 'wait'],
  ] as const)('usually %s, with %j (retracts: %s) is %s', (usual, fields, canRetract, lag) => {
    const all = { ...guardSchema.parse(fields), ...judged };
    expect(guardOf(all, canRetract, usual).lag).toBe(lag);
  });
});

describe('checkGuard', () => {
  const wrong: readonly [Partial<Guard>, string][] = [
    [{ method: 'random' }, 'method: random is not among the methods'],
    [{ rate: 0 }, 'rate: must be a number above 0 and below 1'],
    [{ rate: 1 }, 'rate: must be a number above 0 and below 1'],
    [{ rate: Number.NaN }, 'rate: '],
    [{ candidates: 0 }, 'candidates: must be a whole number from 1 to 16'],
    [{ candidates: 1.5 }, 'candidates: '],
    [{ maxRollbacks: 65 }, 'maxRollbacks: must be a whole number from 0 to 64'],
    [{ lag: 'skip', delivery: 'held' }, 'lag: skip is not possible with held delivery'],
    [{ lag: 'skip', action: 'rollback' }, 'lag: skip is not possible with action rollback'],
  ];

  it.each(wrong)('refuses %j by name', (changes, message) => {
    expect(() => checkGuard({ ...DEFAULT_GUARD, ...changes }, DEFAULT_SCORING)).toThrow(message);
  });

  it('refuses to judge what has no score yet', () => {
    const offline = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } } as const;
    expect(() => checkGuard(DEFAULT_GUARD, offline)).toThrow('schedule: ');
  });

  it('accepts what makes sense', () => {
    const guard = { ...DEFAULT_GUARD, maxRollbacks: 0, candidates: 16 };
    expect(() => checkGuard(guard, DEFAULT_SCORING)).not.toThrow();
    const skip = { ...DEFAULT_GUARD, lag: 'skip', action: 'stop' } as const;
    expect(() => checkGuard(skip, DEFAULT_SCORING)).not.toThrow();
  });
});
