import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { table } from '#bench/markdown-table.js';
import { bootstrapDifference } from '#bench/statistics/bootstrap.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { say } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { choose, type Evaluated, evaluate, RATES, written } from './evaluate.js';
import { labelledSteps, type StepSet } from './labelled-steps.js';

/** `npm run lab -- detectors`: which score of a step a guard should go by. */
export function detectorsCommand(): Command {
  return new Command('detectors')
    .description(
      'Choose the score that tells first wrong steps from right ones, and test it on other answers.',
    )
    .argument('<folders...>', 'runs to choose on, of flinch bench run --score all')
    .option('--test <folders...>', 'runs to test on', [])
    .option('--json', 'print the results as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- detectors runs/gsm8k --test runs/math runs/olympiadbench',
    )
    .action(async (folders: string[], { test, json }: { test: string[]; json?: boolean }) => {
      const [chosenOn, testedOn] = [await readAll(folders), await readAll(test)];
      const [first] = chosenOn;
      for (const { name, measures } of [...chosenOn, ...testedOn])
        if (!isDeepStrictEqual(measures, first!.measures))
          throw new UsageError(`${name}: has the measures ${measures}, the first run ${first!.measures}`);
      const sets = chosenOn.map((set) => evaluate(set));
      const tested = testedOn.map((set) => evaluate(set, first));
      const choice = choose(sets);
      if (json) {
        const plain = (all: readonly Evaluated[]) =>
          all.map(({ detections, ...set }) => ({ ...set, detections: detections.map(written) }));
        say(`${JSON.stringify({ choice, chosenOn: plain(sets), testedOn: plain(tested) })}\n`);
        return;
      }
      const { chosen, best, second, difference } = choice;
      for (const set of [...sets, ...tested]) say(`${tableOf(set, chosen)}\n\n`);
      say(
        `${best}, less ${second}: average precision ${formatEstimate(difference)}.\nBy the rule, the choice is ${chosen}.\n`,
      );
    });
}

const readAll = (folders: readonly string[]): Promise<StepSet[]> => Promise.all(folders.map(labelledSteps));

/** In the order of average precision, with the lead of the chosen one. */
function tableOf({ name, answers, right, wrong, detections }: Evaluated, chosen: string): string {
  const ours = detections.find((one) => one.name === chosen);
  const rows = detections
    .toSorted((a, b) => b.averagePrecision.value - a.averagePrecision.value)
    .map((detection) => {
      const { averagePrecision, auroc, alarms } = written(detection);
      return [
        detection.name,
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
  return `${name}: ${answers} answers, ${wrong} first wrong and ${right} right steps\n\n${table(
    ['score of a step', 'needs', 'average precision', 'less the chosen', 'AUROC', ...heads],
    rows,
  )}`;
}
