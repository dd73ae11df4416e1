import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { list } from '#bench/run/run-options.js';
import { reportDevices } from '#cli/devices.js';
import { fieldOption } from '#cli/field-option.js';
import { deviceOption, integer, modelOption, precisionOption, real } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { ARMS, type Arm, REMEDIES, TRIGGERS } from './arms.js';
import { formatCorrect } from './correct-report.js';
import { tokensFigure } from './figure.js';
import { CHECKED_SUITES, type CorrectOptions, measure } from './measure.js';
import { problemOptions } from './problem-options.js';

/**
 * Seed apart from those of `flinch calibrate`, and from those that the defaults were tuned on (1000000 on).
 */
const DEFAULT_SEED = 2_000_000;

export function correctCommand(): Command {
  const command = new Command('correct')
    .description(
      'Measure whether rolling back helps: final answers with and without it, at the same number of tokens.',
    )
    .addOption(modelOption())
    .addOption(deviceOption())
    .addOption(precisionOption())
    .addOption(
      new Option('--suite <name>', 'problems whose answers a program can check')
        .choices(CHECKED_SUITES)
        .default('tasks'),
    )
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .option('--subsets <names>', 'only these subsets, comma-separated', list)
    .option('--max-tokens <number>', 'maximum length of an answer', integer(1, 65_536), 1024);
  for (const option of problemOptions({ problems: 2000, seed: DEFAULT_SEED })) command.addOption(option);
  return command
    .addOption(
      new Option(
        '--arms <names>',
        'arms (how to flag and correct), separated by semicolons; the first is the main arm',
      )
        .argParser(parseArms)
        .default(ARMS, 'all'),
    )
    .option(
      '--samples <number>',
      'additional answers for self-consistency, at each temperature',
      integer(0, 32),
      4,
    )
    .option(
      '--controls <temperatures>',
      'further temperatures of answers without a guard, separated by commas',
      parseTemperatures,
      [0, 0.2, 0.7, 1],
    )
    .option('--held <problems>', 'problems used to measure the delay of held delivery', integer(0, 1e6), 100)
    .option('--out <folder>', 'folder for the answers; an interrupted run continues there')
    .option('--json', 'print the results as JSON')
    .optionsGroup('Guard:')
    .addOption(fieldOption('rate', '<number>'))
    .addOption(fieldOption('candidates', '<number>'))
    .addOption(fieldOption('act_on', '<what>'))
    .addOption(fieldOption('max_rollbacks', '<number>'))
    .addHelpText(
      'after',
      `
All arms answer the same problems with the same seeds; if a guard flags nothing, its answer is the unguarded one.
Differences are paired (McNemar's exact test, Newcombe's interval). The first arm flags by the guard's rate; every other
measure, and chance, flags as many steps as the first arm. "always" takes every step for flagged. Each arm is compared
with self-consistency at each temperature, for as many tokens.

Examples:
  $ npm run lab -- correct --out /tmp/correct
  $ npm run lab -- correct --temperature 1 --out /tmp/correct-1
  $ npm run lab -- correct --suite gsm8k --model ./Qwen2.5-1.5B-Instruct --temperature 0.7 --out /tmp/correct-gsm8k
  $ npm run lab -- correct --problems 200 --arms "nll,majority;chance,majority" --samples 0`,
    )
    .action(correct);
}

async function correct(options: CorrectOptions): Promise<void> {
  const { model, device, precision, out } = options;
  // One answer more at a time than there are candidates for each: the budget of memory decides, not a count.
  const engine = await Engine.open(model, { device, precision, maxStreams: 64 * availableParallelism() });
  try {
    await reportDevices(engine, device, ['decode', 'score']);
    const report = await measure(engine, options);
    if (out !== undefined) {
      writeFileSync(join(out, 'report.json'), `${JSON.stringify(report)}\n`);
      writeFileSync(join(out, 'tokens.svg'), await tokensFigure(report.unguarded, report.guarded));
    }
    say(`${options.json ? JSON.stringify(report) : formatCorrect(report)}\n`);
  } finally {
    await engine.close();
  }
}

function parseArms(text: string): Arm[] {
  return text.split(';').map((name) => {
    const [trigger, remedy, ...more] = name.split(',').map((word) => word.trim());
    const arm = {
      trigger: TRIGGERS.find((known) => known === trigger),
      remedy: REMEDIES.find((known) => known === remedy),
    };
    if (arm.trigger && arm.remedy && more.length === 0) return { trigger: arm.trigger, remedy: arm.remedy };
    throw new InvalidArgumentError(
      `"${name.trim()}" is not one of ${TRIGGERS.join(', ')}, then a comma, then one of ${REMEDIES.join(', ')}.`,
    );
  });
}

function parseTemperatures(text: string): number[] {
  return text.split(',').map(real(0, 2));
}
