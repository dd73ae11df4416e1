import { isDeepStrictEqual } from 'node:util';
import { table } from '#bench/markdown-table.js';
import { measureLabel } from '#bench/report/measure-label.js';
import { bootstrapDifference, percentileInterval } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { UsageError } from '#src/files/errors.js';
import { type AnswerSet, casesOf, labelledSteps } from './answer-set.js';
import {
  type Choice,
  choose,
  type Detection,
  type Evaluated,
  evaluate,
  meanOver,
  RATES,
  written,
} from './evaluate.js';
import { differenceTable, hitRows, hitTable, shown } from './hit-tables.js';
import { paperTable } from './paper-table.js';

export interface Evidence {
  readonly choice: Choice;
  /** In the order of the sets. */
  readonly evaluated: readonly Evaluated[];
  /** Names of the sets that had no part in the choice. */
  readonly test: readonly string[];
}

/**
 * Chooses a detector, on the sets of the first one's model. Sets of other models show what becomes of the choice there.
 * @param test names of the sets that it is only tested on
 * @throws UsageError where sets cannot be compared, or there is nothing to choose on
 */
export function evidenceOf(sets: readonly AnswerSet[], test: readonly string[]): Evidence {
  const unknown = test.find((name) => !sets.some((set) => set.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no set ${unknown}: ${names(sets)}`);
  const [first] = sets.filter(({ name }) => !test.includes(name));
  if (!first) throw new UsageError('all sets are to test on: there is none to choose on');
  for (const { name, measures, answers } of sets) {
    if (answers.length === 0) throw new UsageError(`${name}: no answer has scores of all measures`);
    if (!isDeepStrictEqual(measures, first.measures))
      throw new UsageError(`${name}: has the measures ${measures}, ${first.name} ${first.measures}`);
  }
  const labelled = labelledSteps(first);
  const evaluated = sets.map((set) =>
    evaluate(labelledSteps(set), test.includes(set.name) ? labelled : undefined),
  );
  const chosenOn = evaluated.filter(({ name }, i) => sets[i]!.model === first.model && !test.includes(name));
  return { evaluated, test, choice: choose(chosenOn) };
}

const names = (sets: readonly AnswerSet[]): string => sets.map(({ name }) => name).join('; ');

/** Tables by their names: of each set what measures hit, how they differ, and how detectors tell its steps apart. */
export function evidenceTables(
  sets: readonly AnswerSet[],
  { choice, evaluated, test }: Evidence,
): ReadonlyMap<string, string> {
  const tested = evaluated.filter(({ name }) => test.includes(name));
  return new Map([
    ['sets', setTable(sets, evaluated)],
    ['the paper', paperTable(sets)],
    ...(tested.length > 0 ? [['the test', testTable(tested, choice)] satisfies [string, string]] : []),
    ...sets.flatMap((set, i): [string, string][] => {
      const [cases, of] = [casesOf(set), evaluated[i]!];
      const differences = differenceTable(cases, set.measures);
      return [
        [`${set.name}, hits`, hitTable(cases, set.measures)],
        ...(differences === null
          ? []
          : [[`${set.name}, differences`, differences] satisfies [string, string]]),
        [`${set.name}, writers`, writerTable(set)],
        [`${set.name}, steps`, detectionTable(of, choice, isShort)],
        [`${set.name}, all detectors`, detectionTable(of, choice, () => true)],
      ];
    }),
  ]);
}

export const choiceText = ({ best, second, difference, chosen }: Choice): string =>
  `${best}, less ${second}: average precision ${formatEstimate(difference)}.\nBy the rule, the choice is ${chosen}.`;

function setTable(sets: readonly AnswerSet[], evaluated: readonly Evaluated[]): string {
  return table(
    ['set', 'model', 'answers', 'of', 'with a wrong step', 'right steps', 'first wrong steps'],
    sets.map(({ name, model, answers, problems }, i) => {
      const { right, wrong } = evaluated[i]!;
      const withWrong = answers.filter(({ correct }) => !correct).length;
      return [name, model, ...[answers.length, problems, withWrong, right, wrong].map(String)];
    }),
  );
}

/** Families of the models that wrote answers of ProcessBench; of two that fit, the first. */
const FAMILIES = ['Qwen2.5', 'Qwen2', 'Llama'];

/** How often the first wrong step holds one of the 3 highest tokens, by who wrote the answer. */
function writerTable(set: AnswerSet): string {
  const familyOf = (writer: string | null): string =>
    writer === null ? set.model : (FAMILIES.find((family) => writer.includes(family)) ?? writer);
  const families = [...new Set(set.answers.map(({ writer }) => familyOf(writer)))].sort();
  return table(
    [
      'written by',
      'wrong answers',
      ...set.measures.map((measure) => `${measureLabel(measure)}, top 3`),
      'chance',
    ],
    families.flatMap((family) => {
      const answers = set.answers.filter(({ writer, correct }) => !correct && familyOf(writer) === family);
      if (answers.length === 0) return [];
      const rows = hitRows(casesOf({ ...set, answers }), set.measures);
      const cell = (measure: string): string =>
        shown(rows.find((row) => row.measure === measure)?.cells.top3, 2);
      return [[family, `${answers.length}`, ...[...set.measures, 'chance'].map(cell)]];
    }),
  );
}

/** Sums, combinations of them, and controls. */
const isShort = ({ name, needs }: Detection): boolean =>
  needs === 'no score' || needs === 'labels' || name.endsWith(', sum');

/** Average precision on sets that had no part in the choice, in the order of its mean, with the lead over the chosen one. */
function testTable(tested: readonly Evaluated[], { chosen }: Choice): string {
  const detections = tested[0]!.detections.filter((one) => isShort(one) || one.name === chosen);
  const ours = meanOver(tested, chosen);
  const rows = detections
    .map(({ name, needs }) => ({ name, needs, mean: meanOver(tested, name) }))
    .sort((a, b) => b.mean.value - a.mean.value)
    .map(({ name, needs, mean }) => [
      name === chosen ? `**${name}**` : name,
      needs,
      formatEstimate(percentileInterval(mean)),
      name === chosen ? '' : formatEstimate(bootstrapDifference(mean, ours).difference),
      ...tested.map((set) => {
        const own = set.detections.find((one) => one.name === name)!;
        return formatEstimate(percentileInterval(own.averagePrecision), 2);
      }),
    ]);
  const heads = ['score of a step', 'needs', 'mean of the sets', 'less the chosen'];
  return table([...heads, ...tested.map(({ name }) => name)], rows);
}

/** In the order of average precision, with the lead over the chosen one. */
function detectionTable(
  { detections }: Evaluated,
  { chosen }: Choice,
  isShown: (detection: Detection) => boolean,
): string {
  const ours = detections.find((one) => one.name === chosen)!;
  const rows = detections
    .filter((one) => isShown(one) || one === ours)
    .sort((a, b) => b.averagePrecision.value - a.averagePrecision.value)
    .map((detection) => {
      const { name, needs } = detection;
      const { averagePrecision, auroc, alarms } = written(detection);
      const { difference } = bootstrapDifference(detection.averagePrecision, ours.averagePrecision);
      return [
        detection === ours ? `**${name}**` : name,
        needs,
        formatEstimate(averagePrecision),
        detection === ours ? '' : formatEstimate(difference),
        formatEstimate(auroc),
        ...alarms.map(
          ({ recall, falseAlarms }) => `${formatEstimate(recall, 2)} (${falseAlarms.value.toFixed(3)})`,
        ),
      ];
    });
  const heads = RATES.map((rate) => `recall at ${100 * rate} %`);
  return table(['score of a step', 'needs', 'average precision', 'less the chosen', 'AUROC', ...heads], rows);
}
