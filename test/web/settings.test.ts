import { describe, expect, it } from 'vitest';
import type { Policy } from '#web/server/models.js';
import { GUARD_FIELDS, guardRequest, lockOf, NO_SETTINGS, policyValue, problemsOf } from '#web/settings.js';

const field = (name: string) => GUARD_FIELDS.find((each) => each.name === name)!;
const policy: Policy = {
  name: 'house',
  defaults: { action: 'rollback', rate: 0.05 },
  locked: { action: 'house', scoring: 'all' },
};
const free = { policy: null };

describe('the settings of the page', () => {
  it('ask for nothing that nobody has set', () => {
    expect(guardRequest(NO_SETTINGS, free)).toEqual({});
  });

  it('ask for what is set, in the words of the API', () => {
    const guard = {
      action: 'rollback',
      rate: '5',
      per: 'token',
      candidates: '3',
      choose: 'uncertainty',
      schedule: 'lazy',
      method: 'adversarial',
    };
    expect(guardRequest({ ...NO_SETTINGS, guard }, free)).toEqual({
      action: 'rollback',
      rate: 0.05,
      per: 'token',
      candidates: 3,
      choose: 'uncertainty',
      scoring: { schedule: 'lazy' },
      method: 'adversarial',
      methods: ['adversarial', 'nll', 'entropy', 'margin'],
    });
  });

  it('ask for the scores that the page shows, and none that an action has no use for', () => {
    const settings = { ...NO_SETTINGS, colours: 'random', guard: { action: 'stop', candidates: '3' } };
    expect(guardRequest(settings, free)).toEqual({
      action: 'stop',
      methods: ['adversarial', 'nll', 'entropy', 'margin', 'random'],
    });
  });

  it('show what the operator has set and locked, and do not ask for it', () => {
    expect(policyValue(field('rate'), policy)).toBe('5');
    expect(lockOf(field('action'), policy)).toBe('house');
    expect(lockOf(field('schedule'), policy)).toBe('all');
    expect(lockOf(field('rate'), policy)).toBeNull();
    const guard = { action: 'annotate', schedule: 'lazy', rate: '1', candidates: '2' };
    expect(guardRequest({ ...NO_SETTINGS, guard }, { policy })).toEqual({ rate: 0.01, candidates: 2 });
  });

  it('say what is wrong beside the field', () => {
    const settings = { ...NO_SETTINGS, temperature: '9', guard: { rate: '0', candidates: 'two' } };
    expect(problemsOf(settings)).toEqual({
      temperature: '0 to 2',
      rate: '0.01 to 99.9',
      candidates: '1 to 16',
    });
    expect(problemsOf(NO_SETTINGS)).toEqual({});
  });
});
