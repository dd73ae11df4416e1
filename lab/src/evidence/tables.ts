import { isDeepStrictEqual } from 'node:util';
import { table } from '#bench/markdown-table.js';
import { bootstrapDifference, percentileInterval, type Resampled } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { UsageError } from '#src/files/file-errors.js';
import { type AnswerSet, casesOf, labelledSteps } from './answer-set.js';
import { type Choice, choose, type Evaluated, evaluate, meanOver, RATE } from './evaluate-evidence.js';
import { hitTable } from './hit-table.js';

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
  const known = sets.map(({ name }) => name).join('; ');
  if (unknown !== undefined) throw new UsageError(`there is no set ${unknown}: ${known}`);
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

/** A table that is made when it is needed. */
export type Tables = ReadonlyMap<string, () => string>;

/** Tables by their names: of all sets, and of each set its steps and what measures hit. */
export function evidenceTables(sets: readonly AnswerSet[], evidence: Evidence): Tables {
  const { choice, evaluated } = evidence;
  return new Map([
    ['all sets', () => precisionTable(evidence)],
    ...sets.flatMap((set, i): [string, () => string][] => [
      [`${set.name}, steps`, () => stepsTable(evaluated[i]!, choice)],
      [`${set.name}, hits`, () => hitTable(casesOf(set), set.measures)],
    ]),
  ]);
}

export const choiceText = ({ best, second, difference, chosen }: Choice): string =>
  `${best}, less ${second}: average precision ${formatEstimate(difference)}.\nBy the rule, the choice is ${chosen}.`;

const nameIn = ({ chosen }: Choice, name: string): string => (name === chosen ? `**${name}**` : name);

const shown = (sample: Resampled, digits = 3): string => formatEstimate(percentileInterval(sample), digits);

/** Average precision in the mean of the sets to test on, which orders the rows, and on each set but the first. */
function precisionTable({ evaluated, test, choice }: Evidence): string {
  const tested = evaluated.filter(({ name }) => test.includes(name));
  const others = evaluated.filter(({ name }) => !test.includes(name));
  const mean = (name: string): Resampled => meanOver(tested.length > 0 ? tested : others, name);
  const ours = mean(choice.chosen);
  const rows = evaluated[0]!.detections
    .map(({ name }) => ({ name, mean: mean(name) }))
    .sort((a, b) => b.mean.value - a.mean.value)
    .map(({ name, mean }) => [
      nameIn(choice, name),
      shown(mean),
      name === choice.chosen ? '' : formatEstimate(bootstrapDifference(mean, ours).difference),
      ...others
        .slice(1)
        .map((set) => shown(set.detections.find((one) => one.name === name)!.averagePrecision, 2)),
    ]);
  const of = tested.length > 0 ? `${tested.length} test sets` : `all ${others.length} sets`;
  return table(['score', `mean of ${of}`, 'lead', ...others.slice(1).map(({ name }) => name)], rows);
}

/** In the order of average precision, with the lead over the chosen one. */
function stepsTable({ detections }: Evaluated, choice: Choice): string {
  const ours = detections.find(({ name }) => name === choice.chosen)!;
  const rows = detections
    .toSorted((a, b) => b.averagePrecision.value - a.averagePrecision.value)
    .map((detection) => {
      const { name, averagePrecision, auroc, recall, falseAlarms } = detection;
      const { difference } = bootstrapDifference(averagePrecision, ours.averagePrecision);
      return [
        nameIn(choice, name),
        shown(averagePrecision),
        detection === ours ? '' : formatEstimate(difference),
        shown(auroc),
        `${shown(recall, 2)} (${falseAlarms.value.toFixed(3)})`,
      ];
    });
  return table(['score', 'average precision', 'lead', 'AUROC', `found at ${100 * RATE} %`], rows);
}
