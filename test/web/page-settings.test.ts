import { describe, expect, it } from 'vitest';
import {
  actionHint,
  GUARD_FIELDS,
  guardRequest,
  lockOf,
  NO_SETTINGS,
  policyValue,
  problemsOf,
  samplingRequest,
} from '#web/page-settings.js';
import type { PolicyView } from '#web/server/page-models.js';

const field = (name: string) => GUARD_FIELDS.find((each) => each.name === name)!;
const policy: PolicyView = {
  name: 'house',
  defaults: { action: 'rollback', rate: 0.07, candidates: 2 },
  locked: { action: 'house', method: 'all' },
};
const free = { policy: null, methods: null, escalatesTo: null };

describe('the settings of the page', () => {
  it('ask for nothing that nobody has set', () => {
    expect(guardRequest(NO_SETTINGS, free)).toEqual({});
  });

  it('ask for what is set, in the words of the API', () => {
    const guard = {
      action: 'rollback',
      rate: '5',
      per: 'answer',
      candidates: '3',
      method: 'adversarial',
    };
    expect(guardRequest({ ...NO_SETTINGS, guard }, free)).toEqual({
      action: 'rollback',
      rate: 0.05,
      per: 'answer',
      candidates: 3,
      method: 'adversarial',
      methods: ['adversarial', 'nll', 'entropy', 'margin'],
    });
  });

  it('ask for sampling as it is set, 0 included', () => {
    const sampling = { temperature: '0', seed: '7', top_p: '' };
    expect(samplingRequest({ ...NO_SETTINGS, sampling })).toEqual({ temperature: 0, seed: 7 });
  });

  it('say what the action in force does, and how to get the one that is missing', () => {
    const model = { id: 'small', policy: null, escalatesTo: null };
    expect(actionHint(NO_SETTINGS, model)).toMatch(/^A flagged step is marked\. .*models\.small\.escalate/);
    const escalate = { ...NO_SETTINGS, guard: { action: 'escalate' } };
    expect(actionHint(escalate, { ...model, escalatesTo: 'large' })).toMatch(
      /larger model answers instead\.$/,
    );
    expect(guardRequest(escalate, free)).toEqual({});
    expect(guardRequest(escalate, { ...free, escalatesTo: 'large' })).toEqual({ action: 'escalate' });
  });

  it('ask for the scores that the page shows, and none that an action has no use for', () => {
    const settings = { ...NO_SETTINGS, colours: 'random', guard: { action: 'stop', candidates: '3' } };
    expect(guardRequest(settings, free)).toEqual({
      action: 'stop',
      methods: ['adversarial', 'nll', 'entropy', 'margin', 'random'],
    });
  });

  it('show what the operator has set and locked, and do not ask for it', () => {
    expect(policyValue(field('rate'), policy)).toBe('7');
    expect(policyValue(field('candidates'), policy)).toBe('2');
    expect(lockOf(field('action'), policy)).toBe('house');
    expect(lockOf(field('method'), policy)).toBe('all');
    expect(lockOf(field('rate'), policy)).toBeNull();
    const guard = { action: 'annotate', method: 'margin', rate: '1', candidates: '2' };
    expect(guardRequest({ ...NO_SETTINGS, guard }, { ...free, policy })).toEqual({
      rate: 0.01,
      candidates: 2,
    });
  });

  it('ask for a budget with an action that has one', () => {
    const guard = { action: 'vote', budget: '30' };
    expect(guardRequest({ ...NO_SETTINGS, guard }, free)).toEqual({ action: 'vote', budget: 0.3 });
    expect(guardRequest({ ...NO_SETTINGS, guard: { ...guard, action: 'stop' } }, free)).toEqual({
      action: 'stop',
    });
  });

  it('ask for no score that the model does not have', () => {
    const settings = { ...NO_SETTINGS, colours: 'random', guard: { method: 'tokur_eu' } };
    expect(guardRequest(settings, { policy: null, methods: ['nll'], escalatesTo: null })).toEqual({});
  });

  it('say what is wrong beside the field, unless it is not asked for', () => {
    const guard = { rate: '0', candidates: 'two' };
    const sampling = { temperature: '9', max_completion_tokens: '1.5', seed: '7', top_p: 'x' };
    expect(problemsOf({ ...NO_SETTINGS, sampling, guard }, null)).toEqual({
      temperature: '0 to 2',
      max_completion_tokens: 'a whole number, 1 to 1000000',
      top_p: '0.01 to 1',
      rate: '0.01 to 99.9',
    });
    const rollback = { ...NO_SETTINGS, guard: { ...guard, action: 'rollback' } };
    expect(problemsOf(rollback, null)).toEqual({ rate: '0.01 to 99.9', candidates: '1 to 16' });
    expect(problemsOf(rollback, { ...policy, locked: { rate: 'house', candidates: 'house' } })).toEqual({});
    expect(problemsOf(NO_SETTINGS, null)).toEqual({});
  });
});
