import { bestRows } from '../evaluate/answer-measures.js';
import type { Evaluation } from '../records/evaluation.js';
import type { CheckRecord } from '../records/records.js';
import { fixed, formatNumber } from './cell-text.js';
import { ALL } from './levels.js';
import { isControl } from './measure-label.js';

type Answers = NonNullable<Evaluation['answers']>;
export type AnswerRow = Evaluation['responses'][number];

/** Wrong answers, and right ones, from which on intervals say something. */
const ENOUGH = 20;

/** How many wrong answers a reader finds among those with the highest scores; `null` where that is not known. */
export function readingSentence({ n, wrong, best, reading }: Answers, scoreName: string): string | null {
  if (!best || !reading || reading.found.value === null) return null;
  const { share, read, found, chance } = reading;
  const range = found.interval ? ` [${found.interval.map((end) => fixed(end, 0)).join(', ')}]` : '';
  const among = best.of > 1 ? `, the best of ${best.of} on these answers` : '';
  return `Of ${formatNumber(n)} answers ${formatNumber(wrong)} are wrong. Whoever reads the ${100 * share} % with the highest score (${formatNumber(read)} ${read === 1 ? 'answer' : 'answers'}, by ${scoreName}${among}) finds ${oneDigit(found.value!)}${range} of them (chance: ${oneDigit(chance)}).`;
}

/** How many answers were read as what: `number (12), date (3)`. */
export const kindsNamed = (kinds: Readonly<Record<string, number>>): string =>
  Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} (${count})`)
    .join(', ');

const SOURCES: readonly (readonly [CheckRecord['by'], string])[] = [
  ['rules', 'by rules'],
  ['program', 'by a program'],
  ['judge', 'by a judge'],
  ['labels', 'that came with the answers'],
  ['people', 'by people'],
];

/** Whose the labels are, those of people always; empty where there is none. */
export function labelSentence({ counts }: Pick<Evaluation, 'counts'>): string[] {
  const { labelledBy = {}, unsure = 0 } = counts.find(({ scope }) => scope === ALL) ?? {};
  const total = Object.values(labelledBy).reduce((sum, count) => sum + count, 0);
  if (total === 0) return [];
  const parts = SOURCES.flatMap(([by, words]) => {
    const { [by]: count = 0 } = labelledBy;
    return count > 0 || by === 'people' ? [`${formatNumber(count)} ${words}`] : [];
  });
  return [`${formatNumber(total)} labels: ${parts.join(', ')}; ${formatNumber(unsure)} unsure.`];
}

/** Choosing among scores by the answers that they are then measured on; `null` where there was no choice. */
export const choiceSentence = ({ best }: Answers): string | null =>
  best && best.of > 1
    ? 'Choosing the best score by the same answers flatters it: expect less on new ones.'
    : null;

const oneDigit = (value: number): string => formatNumber(Number(value.toFixed(1)));

/** What a run lacks for its answers to be compared, and what to run; empty where nothing is missing. */
export function shortages(evaluation: Evaluation): string[] {
  const { counts } = evaluation;
  const all = counts.find(({ scope }) => scope === ALL);
  if (!all) return [];
  const cutOff =
    all.truncated === 0
      ? []
      : [
          `${formatNumber(all.truncated)} of ${formatNumber(all.problems)} answers were cut off: a higher --max-tokens lets them end.`,
        ];
  return [...cutOff, ...tooFew(evaluation, all.given > 0)];
}

/**
 * The same of too few right or wrong answers alone.
 * @param areGiven whether the responses came with the questions
 */
function tooFew({ answers, settings }: Evaluation, areGiven: boolean): string[] {
  if (!answers) {
    if (settings.score === undefined) return [];
    return [
      `Right answers are not compared with wrong ones: not all are scored (--score ${settings.score}). Run again with --score all and another --out.`,
    ];
  }
  const { n, wrong } = answers;
  if (n === 0) return ['No answer is scored.'];
  const few = (kind: 'right' | 'wrong', count: number): string[] => {
    if (count >= ENOUGH) return [];
    // What others have written does not change with a temperature.
    const remedies = areGiven
      ? [
          typeof settings.limit === 'number'
            ? `--limit ${limitFor(settings.limit, n, count)}`
            : 'more responses',
        ]
      : [
          ...(typeof settings.limit === 'number' ? [`--limit ${limitFor(settings.limit, n, count)}`] : []),
          kind === 'wrong' ? 'a higher --temperature' : 'a lower --temperature',
          ...(kind === 'wrong' ? [] : ['another model']),
          ...(typeof settings.limit === 'number' ? [] : ['other questions']),
        ];
    const needs = count === 0 ? 'no score can be judged, and intervals need' : 'intervals need';
    return [
      `${formatNumber(count)} of ${formatNumber(n)} answers are ${kind}; ${needs} about ${ENOUGH}: repeat with ${new Intl.ListFormat('en', { type: 'disjunction' }).format(remedies)}.`,
    ];
  };
  return [...few('wrong', wrong), ...few('right', n - wrong)];
}

/** The limit that is expected to bring enough answers of a kind, if as many of them are of it; ten times where none was. */
function limitFor(limit: number, n: number, count: number): number {
  const wanted = count === 0 ? 10 * limit : (limit * ENOUGH) / count;
  const unit = 10 ** Math.max(1, Math.floor(Math.log10(Math.max(n, wanted))) - 1);
  return Math.ceil(wanted / unit) * unit;
}

/** The best score of each measure, the highest first, controls last. */
export const rowsByRank = ({ responses }: Evaluation): AnswerRow[] =>
  bestRows(responses).sort(
    (a, b) => Number(isControl(a.measure)) - Number(isControl(b.measure)) || b.auroc.value! - a.auroc.value!,
  );
