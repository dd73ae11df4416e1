import { describe, expect, it } from 'vitest';
import { isAlarm } from '#src/index.js';
import { FalseAlarmCheck, RATES } from '#src/risk/false-alarms.js';

describe('isAlarm', () => {
  it('raises one from 1 − rate on, and never for what cannot be told yet', () => {
    expect(isAlarm(null, 1)).toBe(false);
    expect(isAlarm(0, 1)).toBe(true);
    for (const rate of RATES) {
      expect(isAlarm(1 - rate, rate)).toBe(true);
      expect(isAlarm(1 - rate - 1e-9, rate)).toBe(false);
    }
  });

  it('is what a check counts by', () => {
    const risks = {
      calibrated: () => true,
      ofToken: () => null,
      ofStep: (_: string, score: number) => score,
      ofAnswer: (_: string, score: number) => score,
    };
    const scores = [0.9, 0.95, 0.98, 0.99].map((nll) => ({ scores: { nll } }));
    const check = new FalseAlarmCheck(risks, ['nll']);
    // A first step counts half.
    for (const score of scores)
      check.add({ tokens: [{ text: '1' }], scores: [score], steps: [{ from: 0, to: 1 }] });
    const shares = check.table()[0]?.rates.map(({ target, measured }) => [target, measured]);
    expect(shares).toEqual(RATES.map((rate, i) => [rate, (i + 1) / 4]));
  });
});
