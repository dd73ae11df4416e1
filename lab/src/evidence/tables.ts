import { table } from '#bench/markdown-table.js';
import { bootstrapDifference, percentileInterval, type Resampled } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { UsageError } from '#src/files/file-errors.js';
import type { AnswerSet } from './answer-set.js';
import { choose, GUARD, nameOf, PLAIN, type Way } from './choose-score.js';
import { type Detection, evaluate, meanOf, RATE } from './evaluate-evidence.js';
import { type LinearProbe, trainProbe } from './linear-probe.js';
import { CHANGES, type Step, stepScores, stepsOf } from './step-scores.js';

export interface Evidence {
  /** By the rule. */
  readonly chosen: string;
  readonly tables: ReadonlyMap<string, string>;
}

/**
 * Chooses a score of steps, and makes tables of it: `choice`, and one of each group of sets to test on.
 * @param groups names of sets that the score is only tested on, by the name of their table
 * @throws UsageError for an unknown set, or where there is nothing to choose on
 */
export function evidenceOf(
  sets: readonly AnswerSet[],
  groups: ReadonlyMap<string, readonly string[]>,
): Evidence {
  const find = (name: string): AnswerSet => {
    const set = sets.find((one) => one.name === name);
    if (!set) throw new UsageError(`there is no set ${name}: ${sets.map((one) => one.name).join('; ')}`);
    return set;
  };
  const tested = new Map([...groups].map(([name, group]) => [name, group.map(find)]));
  const chosenOn = sets.filter((set) => ![...tested.values()].flat().includes(set));
  if (chosenOn.length === 0) throw new UsageError('all sets are to test on: there is none to choose on');
  const measures = Object.keys(chosenOn[0]!.answers[0]?.scores ?? {});
  const { ways, chosen } = choose(chosenOn, measures);
  // All ways to score by entropy, the sums of the others, and the best of these.
  const shown = [
    GUARD,
    ...ways.filter(
      ({ measure, changes }) =>
        measure === PLAIN.measure || changes.length === 0 || measure === chosen.measure,
    ),
  ];
  const regression = regressionOn(chosenOn, measures);
  const tables = [['choice', chosenOn] as const, ...tested].map(
    ([name, group]) => [name, tableOf(group, shown, regression)] as const,
  );
  return { chosen: nameOf(chosen), tables: new Map(tables) };
}

type Regression = (set: AnswerSet) => number[];

function tableOf(sets: readonly AnswerSet[], ways: readonly Way[], regression: Regression): string {
  const evaluated = sets.map((set) => {
    const steps = stepsOf(set);
    const of = (score: (step: Step) => number): number[] => steps.map(score);
    const scores = new Map([
      ...ways.map((way) => [nameOf(way), stepScores(set, way.measure, way.changes)] as const),
      ['regression', regression(set)] as const,
      ['length', of(({ from, to }) => to - from)] as const,
      ['place', of(({ place }) => place)] as const,
    ]);
    return evaluate(steps, scores);
  });
  const mean = (name: string, of: keyof Detection): Resampled =>
    meanOf(evaluated.map((detections) => detections.get(name)![of]));
  const plain = mean(nameOf(PLAIN), 'averagePrecision');
  const leadOf = (name: string): string =>
    formatEstimate(bootstrapDifference(mean(name, 'averagePrecision'), plain).difference);
  const rows = [...evaluated[0]!.keys()]
    .toSorted((a, b) => mean(b, 'averagePrecision').value - mean(a, 'averagePrecision').value)
    .map((name) => [
      name === nameOf(GUARD) ? `**${name}**` : name,
      shownAs(mean(name, 'averagePrecision')),
      name === nameOf(PLAIN) ? '' : leadOf(name),
      shownAs(mean(name, 'auroc')),
      `${shownAs(mean(name, 'recall'), 2)} (${mean(name, 'falseAlarms').value.toFixed(3)})`,
      ...(sets.length === 1
        ? []
        : evaluated.map((detections) => detections.get(name)!.averagePrecision.value.toFixed(3))),
    ]);
  const each = sets.length === 1 ? [] : sets.map(({ name }) => name);
  const head = ['score', 'average precision', 'more than entropy', 'AUROC', `found at ${100 * RATE} %`];
  return table([...head, ...each], rows);
}

const shownAs = (sample: Resampled, digits = 3): string => formatEstimate(percentileInterval(sample), digits);

/** Logistic regression, which needs labels: of the logarithms of sums, those of numbers and signs, length and place. */
function regressionOn(sets: readonly AnswerSet[], measures: readonly string[]): Regression {
  const features = (set: AnswerSet): number[][] => {
    const content = CHANGES.content.filter(({ size }) => size === 2);
    const columns = measures.flatMap((measure) =>
      [[], content].map((changes) =>
        stepScores(set, measure, changes).map((sum) => Math.log(Math.max(0, sum) + 0.1)),
      ),
    );
    return stepsOf(set).map(({ from, to, place }, i) => [
      ...columns.map((column) => column[i]!),
      Math.log(to - from + 1),
      Math.log(place + 1),
      Number(place === 0),
    ]);
  };
  let before = 0;
  const examples = sets.flatMap((set) => {
    const all = features(set);
    const some = stepsOf(set).map(({ wrong, answer }, i) => ({
      features: all[i]!,
      positive: wrong,
      group: before + answer,
    }));
    before += set.answers.length;
    return some;
  });
  const probe: LinearProbe = trainProbe(examples);
  return (set) => features(set).map(probe);
}
