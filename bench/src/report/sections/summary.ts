import { mainMeasure } from '../../evaluate/paired.js';
import type { Evaluation } from '../../records/evaluation.js';
import { tooFew } from '../answer-words.js';
import { cellText, fixed, formatP } from '../cell-text.js';
import type { Section } from '../document.js';
import {
  ALL,
  type Estimate,
  LEVELS,
  type Level,
  levelName,
  MAIN_METRIC,
  metricLabel,
  rowsOf,
} from '../levels.js';
import { isControl, measureLabel } from '../measure-label.js';
import { parseMeasure } from '../measure-name.js';
import { perRun } from '../per-run.js';
import type { Run } from '../runs.js';

/** Threshold for a corrected p-value. */
const SIGNIFICANT = 0.05;

interface Scored {
  readonly measure: string;
  readonly aggregation: string | null;
  readonly value: number;
  readonly estimate: Estimate;
  readonly n: number | null;
}

type Compared = Pick<Evaluation['paired'][number], 'n' | 'difference' | 'p' | 'adjusted'> & {
  readonly value: number;
};

/** Results in words, for any numbers. */
export function summarySection(runs: readonly Run[]): Section | null {
  const blocks = perRun(runs, ({ evaluation }) => {
    const items = LEVELS.flatMap((level) => levelSentences(evaluation, level) ?? []);
    return items.length === 0 ? [] : [{ kind: 'list', items }];
  });
  // What is missing is said above.
  if (blocks.length === 0 && runs.every(({ evaluation }) => tooFew(evaluation).length > 0)) return null;
  const caution =
    'The first metric of each level, for measures at default settings. Steps and responses use a measure’s own score or the sum over their tokens. The best of many measures is partly lucky: expect a smaller lead on new data. “Better” and “worse” require p < 0.05, corrected for the number of comparisons (Holm).';
  return {
    id: 'summary',
    title: 'Summary',
    blocks:
      blocks.length === 0
        ? [{ kind: 'text', text: 'No measure has a value in these runs.' }]
        : [...blocks, { kind: 'text', text: caution }],
  };
}

function levelSentences(evaluation: Evaluation, level: Level): string | null {
  const metric = MAIN_METRIC[level];
  const rows = rowsOf(evaluation, level).filter(({ scope, main }) => scope === ALL && main);
  const subject = mainMeasure(rows.map(({ measure }) => measure));
  const scored = rows
    .filter(({ measure }) => measure === subject || parseMeasure(measure).settings.size === 0)
    .flatMap(({ measure, aggregation, n, metrics }): Scored[] => {
      const estimate = metrics.get(metric);
      const value = estimate?.value ?? null;
      return estimate && value !== null ? [{ measure, aggregation, value, estimate, n }] : [];
    })
    .sort((a, b) => b.value - a.value);
  const measures = scored.filter(({ measure }) => !isControl(measure));
  const controls = scored.filter(({ measure }) => isControl(measure));
  const [best] = measures;
  if (!best) return null;
  const sentences = [
    leadSentence(measures),
    subjectSentence(evaluation, level, measures, subject),
    tallySentence(evaluation, level, measures, subject),
    controlSentence(best, controls),
  ];
  const text = sentences.filter((sentence) => sentence !== null).join(' ');
  const name = levelName(level, evaluation.suite);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} (${metricLabel(metric)}, n = ${best.n}): ${text}`;
}

function leadSentence(measures: readonly Scored[]): string {
  const leaders = measures.filter(({ value }) => value === measures[0]!.value);
  const names = new Intl.ListFormat('en').format(leaders.map(({ measure }) => measureLabel(measure)));
  const value = formatEstimate(leaders[0]!.estimate);
  if (measures.length === 1) return `${names} is the only measure, ${value}.`;
  return leaders.length === 1
    ? `the highest of ${measures.length} measures is ${names}, ${value}.`
    : `${names} share the highest value of ${measures.length} measures, ${value}.`;
}

/** Position of Adv. Pert.: against the best, or against the next if it is the best. */
function subjectSentence(
  { paired }: Evaluation,
  level: Level,
  measures: readonly Scored[],
  name: string | undefined,
): string | null {
  const subject = measures.find(({ measure }) => measure === name);
  if (!subject) return `${measureLabel('adversarial')} has no value here.`;
  const rival = measures.find((one) => one !== subject);
  if (!rival) return null;
  const [label, other] = [measureLabel(subject.measure), measureLabel(rival.measure)];
  const place =
    rival.value === subject.value
      ? ''
      : rival.value < subject.value
        ? `The next is ${other}, ${formatEstimate(rival.estimate)}. `
        : `${label} has ${formatEstimate(subject.estimate)}. `;
  const compared = compare(paired, level, subject, rival);
  if (!compared) return `${place}The two were not compared case by case.`;
  const verdict = { better: `${label} is better than ${other}`, worse: `${label} is worse than ${other}` };
  const outcome = outcomeOf(compared);
  const words = outcome === 'open' ? `${label} and ${other} do not differ significantly` : verdict[outcome];
  const difference = formatEstimate(compared.difference, true);
  return `${place}On the same ${compared.n} cases ${words}: difference ${difference}, p = ${formatP(compared.p)}, corrected ${formatP(compared.adjusted)}.`;
}

/** Summary of all measures that Adv. Pert. was compared with. */
function tallySentence(
  { paired }: Evaluation,
  level: Level,
  measures: readonly Scored[],
  name: string | undefined,
): string | null {
  const subject = measures.find(({ measure }) => measure === name);
  if (!subject) return null;
  const outcomes = measures
    .filter((one) => one !== subject)
    .flatMap((rival) => compare(paired, level, subject, rival) ?? [])
    .map(outcomeOf);
  if (outcomes.length < 2) return null;
  const count = (outcome: string): number => outcomes.filter((one) => one === outcome).length;
  return `Of the ${outcomes.length} measures that it was compared with, ${measureLabel(subject.measure)} is better than ${count('better')}, worse than ${count('worse')}, and not significantly different from ${count('open')}.`;
}

function outcomeOf({ adjusted, value }: Compared): 'better' | 'worse' | 'open' {
  if (adjusted >= SIGNIFICANT || value === 0) return 'open';
  return value > 0 ? 'better' : 'worse';
}

/** The subject minus the rival, whichever way round the row has it. */
function compare(
  paired: Evaluation['paired'],
  level: Level,
  subject: Scored,
  rival: Scored,
): Compared | null {
  const same = paired.filter((row) => row.level === level && row.metric === MAIN_METRIC[level]);
  const found = (a: Scored, b: Scored) =>
    same.find((row) => row.a === a.measure && row.b === b.measure && row.aggregation === rival.aggregation);
  const row = found(subject, rival) ?? found(rival, subject);
  if (!row || row.difference.value === null) return null;
  if (row.a === subject.measure) return { ...row, value: row.difference.value };
  const { value, interval } = row.difference;
  const turned: [number, number] | null = interval && [-interval[1], -interval[0]];
  return { ...row, value: -value, difference: { value: -value, interval: turned } };
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
