import { type Answer, fullScore, heatOf, riskHeight, scoreState } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { methodsOf, riskOf, scoreOf } from './queries.js';

/** Height of the bar of a token without a score: it must not pass for a score of 0. */
const UNSCORED_HEIGHT = 0.06;
/** Minimum height of a bar, so that a score of 0 is seen. */
const LEAST_HEIGHT = 0.015;

export interface ChartedStep {
  readonly from: number;
  readonly to: number;
  /** 0 to 1 of the chart's height. */
  readonly height: number;
  readonly flagged: boolean;
}

export interface ChartData {
  readonly tokens: readonly number[];
  /** Heights, 0 to 1, of the method that colours the text; `null` without a score. */
  readonly bars: readonly (number | null)[];
  /** The same for tokens without a score. */
  readonly unscored: readonly (number | null)[];
  readonly lines: readonly { readonly method: Method; readonly heights: readonly (number | null)[] }[];
  /** Methods on the axis of risks; each other has a scale of its own, up to its highest score. */
  readonly rated: readonly Method[];
  /** Height of the threshold; `null` where there are no risks. */
  readonly threshold: number | null;
  /** Score of the full height; `null` where the axis is one of risks. */
  readonly top: number | null;
  readonly steps: readonly ChartedStep[];
}

/** What the chart of an answer shows. @param shown method of the bars */
export function chartData(answer: Answer, shown: Method): ChartData {
  const { tokens, guard } = answer;
  const methods = methodsOf(answer);
  const rated = methods.filter((method) => heatOf(answer, method).by === 'risk');
  const heights = (method: Method): (number | null)[] => {
    const full = fullScore(tokens, method);
    return tokens.map((token) => {
      const risk = rated.includes(method) ? riskOf(token, method) : null;
      if (risk !== null) return riskHeight(risk);
      // Methods without risks have a scale of their own.
      const score = scoreOf(token, method);
      return score === null ? null : Math.min(1, Math.max(0, score / full));
    });
  };
  const rate = guard?.rate ?? 0;
  const byRisk = rated.includes(shown);
  return {
    tokens: tokens.map(({ index }) => index),
    bars: heights(shown).map((height) => (height === null ? null : Math.max(LEAST_HEIGHT, height))),
    unscored: tokens.map((token) => (scoreState(token, shown) === 'scored' ? null : UNSCORED_HEIGHT)),
    lines: methods
      .filter((method) => method !== shown)
      .map((method) => ({ method, heights: heights(method) })),
    rated,
    threshold: byRisk ? riskHeight(1 - rate) : null,
    top: byRisk ? null : fullScore(tokens, shown),
    steps: (byRisk ? answer.steps : []).flatMap(({ from, to, risk, flagged }) =>
      risk === null ? [] : [{ from, to, height: riskHeight(risk), flagged: flagged === true }],
    ),
  };
}
