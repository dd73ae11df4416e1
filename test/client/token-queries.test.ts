import { describe, expect, it } from 'vitest';
import { DEFAULT_METHODS } from '#client/client-methods.js';
import { fullScore, heatOf, scoreState, stepsOfTokens } from '#client/token-queries.js';
import { numbered, play, rolledBack, score, SCORED as scored, settled } from './fake-server.js';

describe('what front ends ask of an answer', () => {
  it('tells a score that was passed over from one that is missing', () => {
    const states = play(scored).tokens.map((each) => scoreState(each, 'adversarial'));
    expect(states).toEqual(['lag', 'missing', 'missing']);
    expect(play(scored).tokens.map((each) => scoreState(each, 'nll'))).toEqual([
      'scored',
      'scored',
      'missing',
    ]);
  });

  it('colours by score up to the highest, and by risk up to the threshold where that is known', () => {
    const byScore = heatOf(play(scored), 'nll');
    expect(byScore).toMatchObject({ by: 'score', full: 2 });
    expect(play(scored).tokens.map(byScore.of)).toEqual([0.05, 1, 0]);
    const risks = [0.1, 0.9, 0.98].map((risk, index) => score(index, 9, { risk: { nll: risk } }));
    const rated = play([...scored, ...numbered(risks)]);
    const byRisk = heatOf(rated, 'nll');
    expect(byRisk).toMatchObject({ by: 'risk', full: 0.98 });
    expect(byRisk.of(rated.tokens[2]!)).toBe(1);
    expect(heatOf(rated, 'adversarial').by).toBe('score');
  });

  it('keeps the meaning of the colours where a running estimate begins to have risks', () => {
    const events = [...scored, ...numbered([score(2, 9, { risk: { nll: 0.98 } })])];
    const begun = heatOf(play(events), 'nll');
    expect(begun).toMatchObject({ by: 'score', full: 9 });
    expect(play(events).tokens.map((each) => begun.of(each))).toEqual([0.1 / 9, 2 / 9, 1]);
    const all = play([...events, ...numbered([score(0, 1, { risk: { nll: 0.5 } })])]);
    expect(heatOf(all, 'nll').by).toBe('risk');
    expect(heatOf({ ...all, guard: { ...all.guard!, calibrated: false } }, 'nll').by).toBe('score');
  });

  it.each(DEFAULT_METHODS)('stays pale in an answer without a doubtful token: %s', (method) => {
    const one = { ...play(scored).tokens[0]!, scores: { [method]: 1e-6 } };
    expect(fullScore([one], method)).toBeGreaterThan(1e-4);
    expect(heatOf({ tokens: [one], guard: null }, method).of(one)).toBeLessThan(0.01);
    const lower = { ...one, scores: { [method]: -1 } };
    expect(heatOf({ tokens: [lower], guard: null }, method).of(lower)).toBe(0);
  });

  it('finds the step of each token: a settled one, or a flagged one before it is settled', () => {
    const events = rolledBack();
    const flag = events.findIndex(({ type }) => type === 'step.flagged');
    const steps = (until?: number) => stepsOfTokens(play(events.slice(0, until)));
    expect(steps(flag)[0]).toBeNull();
    expect(steps(flag + 1)[1]).toMatchObject({ step: 0, flagged: true });
    expect(steps()[1]).toMatchObject({ step: 0, text: 'So 5', flagged: false });
    expect(steps()[2]).toBeNull();
    const again = play([...events.slice(0, -1), ...numbered([settled({ step: 1, from: 2, to: 3 })])]);
    expect(stepsOfTokens(again)[2]).toMatchObject({ step: 1, flagged: true });
  });
});
