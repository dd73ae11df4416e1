import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { table } from '#bench/markdown-table.js';
import type { Evaluation } from '#bench/records/evaluation.js';
import { evaluationOf } from '#bench/run/evaluate-run.js';
import { peekRecords } from '#bench/run/run-folder.js';
import { bootstrapDifference } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { say } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { withTables } from '../page-tables.js';
import { type Choice, choose, type Detection, type Evaluated, evaluate, RATES, written } from './evaluate.js';
import { differenceTable, hitTable } from './hit-tables.js';
import { labelledSteps, type StepSet } from './labelled-steps.js';
import { paperTable } from './paper-table.js';

/**
 * `npm run lab -- evidence`: whether measures find the first wrong step, and which score of a step a guard should go by.
 */
export function evidenceCommand(): Command {
  return new Command('evidence')
    .description(
      'Tables of what measures find, and the choice of the score that tells first wrong steps from right ones.',
    )
    .argument('<folders...>', 'runs to choose on, of flinch bench run --score all')
    .option('--test <folders...>', 'runs to test on', [])
    .option('--into <pages...>', 'Markdown pages; a table replaces the one after its comment')
    .option('--json', 'print the choice and its detectors as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence runs/gsm8k --test runs/math runs/olympiadbench',
    )
    .action(async (folders: string[], { test, into, json }: Options) => {
      const evidence = await evidenceOf(folders, test);
      if (json) {
        const plain = (all: readonly Evaluated[]) =>
          all.map(({ detections, ...set }) => ({ ...set, detections: detections.map(written) }));
        const { choice, chosenOn, testedOn } = evidence;
        say(`${JSON.stringify({ choice, chosenOn: plain(chosenOn), testedOn: plain(testedOn) })}\n`);
        return;
      }
      const tables = evidenceTables(evidence);
      for (const page of into ?? []) await writeFile(page, withTables(await readFile(page, 'utf8'), tables));
      if (into) return;
      for (const [name, text] of tables) say(`${name}\n\n${text}\n\n`);
      say(`${choiceText(evidence.choice)}\n`);
    });
}

interface Options {
  readonly test: readonly string[];
  readonly into?: readonly string[];
  readonly json?: boolean;
}

interface Evidence {
  readonly choice: Choice;
  readonly chosenOn: readonly Evaluated[];
  readonly testedOn: readonly Evaluated[];
  /** By the names of the runs, which are those of their folders. */
  readonly evaluations: ReadonlyMap<string, Evaluation>;
}

/** @throws UsageError for runs that cannot be compared */
export async function evidenceOf(folders: readonly string[], test: readonly string[]): Promise<Evidence> {
  const [chosenOn, testedOn] = [await readAll(folders), await readAll(test)];
  const [first] = chosenOn;
  for (const { name, measures } of [...chosenOn, ...testedOn])
    if (!isDeepStrictEqual(measures, first!.measures))
      throw new UsageError(`${name}: has the measures ${measures}, the first run ${first!.measures}`);
  const evaluations = new Map<string, Evaluation>();
  for (const folder of [...folders, ...test])
    evaluations.set(basename(folder), await evaluationOf(folder, await peekRecords(folder)));
  const sets = chosenOn.map((set) => evaluate(set));
  return {
    ...{ choice: choose(sets), chosenOn: sets },
    ...{ testedOn: testedOn.map((set) => evaluate(set, first)), evaluations },
  };
}

const readAll = (folders: readonly string[]): Promise<StepSet[]> => Promise.all(folders.map(labelledSteps));

/** Tables by their names: of each run what measures hit, how they differ, and all detectors. */
export function evidenceTables({
  choice,
  chosenOn,
  testedOn,
  evaluations,
}: Evidence): ReadonlyMap<string, string> {
  const sets = [...chosenOn, ...testedOn];
  return new Map([
    ['runs', runTable(sets, evaluations)],
    ['the paper', paperTable(evaluations)],
    ...[...evaluations].flatMap(([name, evaluation], i): [string, string][] => [
      [`${name}, hits`, hitTable(evaluation)],
      ...(evaluation.paired.length > 0
        ? ([[`${name}, differences`, differenceTable(evaluation)]] satisfies [string, string][])
        : []),
      [`${name}, steps`, detectionTable(sets[i]!, choice, isShort)],
      [`${name}, all detectors`, detectionTable(sets[i]!, choice, () => true)],
    ]),
  ]);
}

const choiceText = ({ best, second, difference, chosen }: Choice): string =>
  `${best}, less ${second}: average precision ${formatEstimate(difference)}.\nBy the rule, the choice is ${chosen}.`;

function runTable(sets: readonly Evaluated[], evaluations: ReadonlyMap<string, Evaluation>): string {
  return table(
    ['run', 'answers', 'with a wrong step', 'right steps', 'first wrong steps'],
    [...evaluations.keys()].map((name, i) => {
      const { answers, right, wrong } = sets[i]!;
      const located = evaluations.get(name)!.counts[0]!.located;
      return [name, ...[answers, located, right, wrong].map(String)];
    }),
  );
}

/** Sums, combinations of them, and controls. */
const isShort = ({ name, needs }: Detection): boolean =>
  needs === 'no score' || needs === 'labels' || name.endsWith(', sum');

/** In the order of average precision, with the lead over the chosen one. */
function detectionTable(
  { detections }: Evaluated,
  { chosen }: Choice,
  isShown: (detection: Detection) => boolean,
): string {
  const ours = detections.find((one) => one.name === chosen);
  const rows = detections
    .filter((one) => isShown(one) || one === ours)
    .sort((a, b) => b.averagePrecision.value - a.averagePrecision.value)
    .map((detection) => {
      const { averagePrecision, auroc, alarms } = written(detection);
      return [
        detection === ours ? `**${detection.name}**` : detection.name,
        detection.needs,
        formatEstimate(averagePrecision),
        ours && ours !== detection
          ? formatEstimate(bootstrapDifference(detection.averagePrecision, ours.averagePrecision).difference)
          : '',
        formatEstimate(auroc),
        ...alarms.map(
          ({ recall, falseAlarms }) => `${formatEstimate(recall, 2)} (${falseAlarms.value.toFixed(3)})`,
        ),
      ];
    });
  const heads = RATES.map((rate) => `recall at ${100 * rate} %`);
  return table(['score of a step', 'needs', 'average precision', 'less the chosen', 'AUROC', ...heads], rows);
}
