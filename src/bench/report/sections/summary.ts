import type { Evaluation } from '../../run/evaluation.js';
import { cellText, fixed, formatP } from '../cell-text.js';
import type { Section } from '../document.js';
import {
  ALL,
  type Estimate,
  isMain,
  isMainAggregation,
  LEVEL_NAMES,
  LEVELS,
  type Level,
  MAIN_METRIC,
  metricLabel,
  rowsOf,
} from '../levels.js';
import { isControl, measureLabel } from '../measure-label.js';
import { parseMeasure } from '../measure-name.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

/** The measure that all this is about. */
const SUBJECT = 'adversarial';
/** Of a corrected p-value. */
const SIGNIFICANT = 0.05;

interface Scored {
  readonly measure: string;
  readonly value: number;
  readonly estimate: Estimate;
  readonly n: number;
}

/** What the numbers say in words, whatever they are. */
export function summarySection(runs: readonly Run[]): Section {
  const blocks = perRun(runs, ({ evaluation }) => {
    const items = LEVELS.flatMap((level) => levelSentences(evaluation, level));
    return items.length === 0 ? [] : [{ kind: 'list', items }];
  });
  const caution =
    'Of each level the first metric of its tables and measures at their usual settings, steps and responses by the sum of their tokens as in the paper. The best of many measures is partly the luckiest: its lead is smaller on new data. p is corrected for the number of comparisons (Holm).';
  return {
    id: 'summary',
    title: 'Summary',
    blocks:
      blocks.length === 0
        ? [{ kind: 'text', text: 'No measure has a value in these runs: there is nothing to sum up.' }]
        : [...blocks, { kind: 'text', text: caution }],
  };
}

function levelSentences(evaluation: Evaluation, level: Level): string[] {
  const metric = MAIN_METRIC[level];
  const scored = rowsOf(evaluation, level)
    .filter((row) => row.scope === ALL && isMain(row) && parseMeasure(row.measure).settings.size === 0)
    .flatMap(({ measure, n, metrics }): Scored[] => {
      const estimate = metrics.get(metric) ?? { value: null, interval: null };
      return estimate.value === null ? [] : [{ measure, value: estimate.value, estimate, n }];
    })
    .sort((a, b) => b.value - a.value);
  const measures = scored.filter(({ measure }) => !isControl(measure));
  const [best] = measures;
  if (!best) return [];
  const leaders = measures.filter(({ value }) => value === best.value);
  return [
    `${capital(LEVEL_NAMES[level])} (${metricLabel(metric)}, n = ${best.n}): ${[
      leadSentence(leaders, measures.length),
      subjectSentence(evaluation, level, measures, leaders),
      controlSentence(
        best,
        scored.filter(({ measure }) => isControl(measure)),
      ),
    ]
      .filter((sentence) => sentence !== null)
      .join(' ')}`,
  ];
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function leadSentence(leaders: readonly Scored[], count: number): string {
  const names = leaders.map(({ measure }) => measureLabel(measure)).join(', ');
  const value = formatEstimate(leaders[0]!.estimate);
  if (count === 1) return `${names} is the only measure, ${value}.`;
  return leaders.length === 1
    ? `the highest of ${count} measures is ${names}, ${value}.`
    : `${names} share the highest value of ${count} measures, ${value}.`;
}

/** Where Adv. Pert. stands: against the best, or against the next if it is the best. */
function subjectSentence(
  evaluation: Evaluation,
  level: Level,
  measures: readonly Scored[],
  leaders: readonly Scored[],
): string | null {
  const label = measureLabel(SUBJECT);
  const subject = measures.find(({ measure }) => measure === SUBJECT);
  if (!subject) return `${label} was not measured.`;
  const leads = leaders.includes(subject);
  const others = measures.filter((one) => one !== subject);
  const rival = leads ? others[0] : leaders[0];
  if (!rival) return null;
  const place = leads
    ? `The next to it is ${measureLabel(rival.measure)}, ${formatEstimate(rival.estimate)}. `
    : `${label} has ${formatEstimate(subject.estimate)}. `;
  return `${rival.value === subject.value ? '' : place}${comparison(evaluation, level, rival.measure)}`;
}

function comparison({ paired }: Evaluation, level: Level, rival: string): string {
  const label = measureLabel(SUBJECT);
  const other = measureLabel(rival);
  const row = paired.find(
    ({ level: of, metric, aggregation, a, b }) =>
      of === level &&
      metric === MAIN_METRIC[level] &&
      isMainAggregation(aggregation) &&
      ((a === SUBJECT && b === rival) || (a === rival && b === SUBJECT)),
  );
  if (!row || row.difference.value === null) return `The two were not compared case by case.`;
  const sign = row.a === SUBJECT ? 1 : -1;
  const [low, high] = row.difference.interval ?? [];
  const value = formatEstimate(
    {
      value: sign * row.difference.value,
      interval: low === undefined || high === undefined ? null : sign === 1 ? [low, high] : [-high, -low],
    },
    true,
  );
  const verdict =
    row.adjusted < SIGNIFICANT && row.difference.value !== 0
      ? `${label} is ${sign * row.difference.value > 0 ? 'better' : 'worse'} than ${other}`
      : `${label} and ${other} cannot be told apart`;
  return `On the same ${row.n} cases ${verdict}: difference ${value}, p = ${formatP(row.p)}, corrected ${formatP(row.adjusted)}.`;
}

function controlSentence(best: Scored, controls: readonly Scored[]): string | null {
  const above = controls.filter(({ value }) => value >= best.value);
  if (above.length === 0) return null;
  const names = above.map(({ measure, value }) => `${measureLabel(measure)} (${fixed(value, 3)})`);
  return `No measure is above the control ${names.join(' or ')}.`;
}

function formatEstimate({ value, interval }: Estimate, signed = false): string {
  const text = cellText({ value, interval, digits: 3, signed });
  return text.interval ? `${text.main} ${text.interval}` : text.main;
}
