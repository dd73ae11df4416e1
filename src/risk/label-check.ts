import { type Interval, wilson } from '../numerics/proportion.js';
import { isAlarm } from './risk.js';

/** An answer with a label: right or wrong. */
export interface LabelledAnswer {
  readonly right: boolean;
  /** Verdict on the answer; `null` if there is none. */
  readonly flagged: boolean | null;
  readonly risk: number | null;
}

/** A part of some answers, with its 95 % interval (Wilson). */
export interface Share extends Interval {
  readonly count: number;
  readonly of: number;
}

export interface LabelCheckRow {
  /** `null` for the verdicts as they were. */
  readonly rate: number | null;
  /** Share of wrong answers that are flagged. */
  readonly found: Share;
  /** Share of right answers that are flagged. */
  readonly falseAlarms: Share;
  /** Share of flagged answers that are wrong. */
  readonly precision: Share;
}

/** Verdicts on labelled answers, against their labels. */
export interface LabelCheck {
  readonly right: number;
  readonly wrong: number;
  /** Answers without a verdict; they are in no share, because no verdict is not a clean verdict. */
  readonly unscored: { readonly right: number; readonly wrong: number };
  readonly rows: readonly LabelCheckRow[];
}

/** Rates for which it is told what verdicts would have been. */
const RATES = [0.01, 0.02, 0.05, 0.1, 0.2] as const;

/** Compares verdicts with labels: as they were, and as they would have been for other rates. */
export function checkLabels(answers: readonly LabelledAnswer[]): LabelCheck {
  const numberOf = (some: readonly LabelledAnswer[]) => ({
    right: some.filter(({ right }) => right).length,
    wrong: some.filter(({ right }) => !right).length,
  });
  const rated = answers.filter((answer) => answer.flagged !== null && answer.risk !== null);
  return {
    ...numberOf(answers),
    unscored: numberOf(answers.filter(({ flagged }) => flagged === null)),
    rows: [
      row(null, answers, ({ flagged }) => flagged),
      ...RATES.map((rate) => row(rate, rated, ({ risk }) => isAlarm(risk, rate))),
    ],
  };
}

function row(
  rate: number | null,
  answers: readonly LabelledAnswer[],
  isFlagged: (answer: LabelledAnswer) => boolean | null,
): LabelCheckRow {
  const count = (right: boolean, flagged: boolean): number =>
    answers.filter((answer) => answer.right === right && isFlagged(answer) === flagged).length;
  const [found, missed] = [count(false, true), count(false, false)];
  const [alarms, passed] = [count(true, true), count(true, false)];
  return {
    rate,
    found: share(found, found + missed),
    falseAlarms: share(alarms, alarms + passed),
    precision: share(found, found + alarms),
  };
}

const share = (count: number, of: number): Share => ({ count, of, ...wilson(count, of) });
