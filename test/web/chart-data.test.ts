import { describe, expect, it } from 'vitest';
import { riskHeight } from '#client/risk-scale.js';
import { chartData } from '#web/answer/chart-data.js';
import { created, numbered, play, score, settled, token } from '../client/fake-server.js';

const begun = [created(), token(0, 'So'), token(1, ' 4'), token(2, '.')];
const scores = [score(0, 0.1, { skipped: ['adversarial'] }), score(1, 2)];

describe('the chart of an answer', () => {
  it('has each method on a scale of its own before there are risks', () => {
    const data = chartData(play(numbered([...begun, ...scores])), 'nll');
    expect(data).toMatchObject({
      tokens: [0, 1, 2],
      bars: [0.05, 1, null],
      top: 2,
      threshold: null,
      steps: [],
    });
    expect(data.lines.map(({ method }) => method)).toEqual(['adversarial']);
  });

  it('tells tokens without a score from those that scored 0', () => {
    const answer = play(numbered([...begun, score(0, 0), score(1, 2)]));
    const { bars, unscored } = chartData(answer, 'nll');
    expect(bars[0]).toBeGreaterThan(0);
    expect(unscored.map((height) => height !== null)).toEqual([false, false, true]);
  });

  it('has risks, the threshold and the steps where they are known', () => {
    const risks = [0.1, 0.5, 0.98].map((risk, index) => score(index, 9, { risk: { nll: risk } }));
    const rated = [...risks, settled({ from: 0, to: 3, risk: 0.5 })];
    const data = chartData(play(numbered([...begun, ...rated])), 'nll');
    expect(data).toMatchObject({ rated: ['nll'], top: null, threshold: riskHeight(0.98) });
    expect(data.bars[2]).toBeCloseTo(riskHeight(0.98));
    expect(data.bars[1]).toBeCloseTo(riskHeight(0.5));
    expect(data.steps).toEqual([{ from: 0, to: 3, height: riskHeight(0.5), flagged: true }]);
  });
});
