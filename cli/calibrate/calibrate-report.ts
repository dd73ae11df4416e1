import { DEFAULT_GUARD } from '../../src/guard/guard.js';
import { type Distribution, thresholdAt } from '../../src/numerics/distribution.js';
import type { Calibration } from '../../src/risk/calibration.js';
import type { FalseAlarms } from '../../src/risk/false-alarms.js';
import { KINDS, type TextKind } from '../../src/risk/step-score.js';
import { METHODS, type Method } from '../../src/uncertainty/method-names.js';
import { formatTable } from '../terminal-format.js';

/** Rates that a summary shows thresholds for; the first is the guard's. */
const RATES = [DEFAULT_GUARD.rate, 0.05] as const;

/** Scores of a kind, and what they are flagged above. */
export interface Thresholds {
  readonly method: Method;
  readonly of: string;
  readonly count: number;
  readonly skipped: number;
  /** `null` where there are too few scores for the rate, `all` where every score is above it: the rest was skipped. */
  readonly thresholds: readonly { readonly rate: number; readonly threshold: number | 'all' | null }[];
}

const OF_KIND: Readonly<Record<'step' | 'answer', Partial<Record<TextKind, string>>>> = {
  step: { numbers: 'step with digits', words: 'step without' },
  answer: { numbers: 'answer with digits', words: 'answer without', short: 'answer of one step' },
};

/** @param first the method whose rows come first */
export function thresholdsOf({ levels, methods }: Calibration, first?: Method): Thresholds[] {
  return METHODS.toSorted((a, b) => Number(b === first) - Number(a === first)).flatMap((method) => {
    const scores = methods[method];
    if (!scores) return [];
    const row = (of: string, distribution: Distribution): Thresholds => ({
      method,
      of,
      count: distribution.count,
      skipped: distribution.skipped,
      thresholds: RATES.map((rate) => {
        const threshold = thresholdAt(distribution, levels, rate);
        return { rate, threshold: threshold === Number.NEGATIVE_INFINITY ? 'all' : threshold };
      }),
    });
    const { statistic = 'sum', answers, peaks } = scores;
    const ofKinds = (of: keyof typeof OF_KIND, some: Partial<Record<TextKind, Distribution | undefined>>) =>
      KINDS.flatMap((kind) => (some[kind] ? [row(OF_KIND[of][kind] ?? kind, some[kind])] : []));
    return [
      row('token', scores.tokens),
      ...scores.positions.map((bin) =>
        row(`token ${bin.from}${bin.to === null ? ' on' : `–${bin.to - 1}`}`, bin),
      ),
      row('step', scores.steps.sum),
      ...ofKinds('step', scores.steps),
      ...(peaks ? [row('any step of an answer', peaks.sum)] : []),
      ...(answers?.[statistic] ? [row('answer', answers[statistic]), ...ofKinds('answer', answers)] : []),
    ];
  });
}

export function formatThresholds(rows: readonly Thresholds[]): string {
  const heads = RATES.map((rate) => `at ${percent(rate)}`);
  const table = formatTable([
    ['method', 'of', 'scores', 'skipped', ...heads],
    ...rows.map(({ method, of, count, skipped, thresholds }) => [
      method,
      of,
      String(count),
      percent(skipped / count),
      ...thresholds.map(({ threshold }) => show(threshold)),
    ]),
  ]);
  const lacks = rows.some(({ thresholds }) => thresholds.some(({ threshold }) => threshold === null));
  return lacks
    ? `${table}\nnone: too few scores for the rate (1 / rate are needed), so nothing is flagged`
    : table;
}

/** What the guard flags by default: enough steps for its rate are needed for a calibration. */
export function guardWords(calibration: Calibration, judge: Method): string {
  const rows = thresholdsOf(calibration, judge).filter(({ method }) => method === judge);
  const above = (kind: string): string[] => {
    const threshold = rows.find(({ of }) => of === kind)?.thresholds[0]?.threshold;
    return typeof threshold === 'number' ? [`a ${kind} above ${show(threshold)}`] : [];
  };
  const kinds = Object.values(OF_KIND.step).flatMap(above);
  const [step = 'a step with a score'] = kinds.length === 2 ? [kinds.join(', ')] : above('step');
  return `${step} is flagged (${percent(RATES[0])} of ordinary ones)`;
}

const show = (threshold: number | 'all' | null): string =>
  typeof threshold === 'number' ? threshold.toPrecision(4) : (threshold ?? 'none');

export function formatFalseAlarms(rows: readonly FalseAlarms[]): string {
  const targets = rows[0]?.rates.map(({ target }) => `at ${percent(target)}`) ?? [];
  return formatTable([
    ['method', 'of', 'scores', ...targets],
    ...rows.map(({ method, of, count, rates }) => [
      method,
      of,
      String(count),
      ...rates.map(
        ({ measured, low, high }) =>
          `${percent(measured)} [${(100 * low).toFixed(2)}, ${(100 * high).toFixed(2)}]`,
      ),
    ]),
  ]);
}

const percent = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;
