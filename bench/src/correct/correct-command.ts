import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { DeviceChoice, Method, Precision } from 'flinch/internals';
import {
  absoluteScoring,
  calibrationFileOf,
  DEFAULT_GUARD,
  deviceOption,
  Engine,
  fieldOption,
  fingerprint,
  type Guard,
  integer,
  modelOption,
  precisionOption,
  type RiskModel,
  readCalibration,
  real,
  reportDevices,
  riskModel,
  samplingDefaults,
  tasksOf,
  UsageError,
} from 'flinch/internals';
import { defaultDataFolder, suiteFolder } from '../data/folder.js';
import { thisMachine } from '../markdown-table.js';
import { claimFolder } from '../result-log.js';
import { commandLine } from '../run/command-line.js';
import { limited } from '../run/problems.js';
import { list } from '../run/run-options.js';
import type { BenchProblem } from '../suites/suite.js';
import { suites } from '../suites/suites.js';
import type { Trial } from './answer-task.js';
import {
  ARMS,
  type Arm,
  type ArmSettings,
  flagCount,
  methodOf,
  methodsOf,
  nameOf,
  REMEDIES,
  scoringFor,
  TRIGGERS,
  type Trigger,
  thresholdFor,
} from './arms.js';
import { compare, type Outcome } from './comparison.js';
import { type CorrectReport, formatCorrect } from './correct-report.js';
import { measureDelays } from './delays.js';
import { tokensFigure } from './figure.js';
import { problemOptions } from './problem-options.js';
import { type RunOptions, runArm, runSamples, runUnguarded, sampleOf } from './run.js';
import { type Ladder, ladder, type Sampling, sameBudget } from './self-consistency.js';

interface CorrectOptions {
  readonly model: string;
  readonly suite: (typeof CHECKED_SUITES)[number];
  readonly data?: string;
  readonly subsets?: string[];
  readonly maxTokens: number;
  readonly device: DeviceChoice;
  readonly precision: Precision;
  readonly problems: number;
  readonly seed: number;
  readonly temperature?: number;
  readonly arms: readonly Arm[];
  readonly samples: number;
  readonly controls: readonly number[];
  readonly held: number;
  readonly out?: string;
  readonly json?: boolean;
  readonly rate: number;
  readonly statistic: Guard['statistic'];
  readonly candidates: number;
  readonly candidateTemperature?: number;
  readonly rollbackTo: Guard['rollbackTo'];
  readonly maxRollbacks: number;
}

/** Suites whose answers need no judge. */
const CHECKED_SUITES = ['tasks', 'questions', 'gsm8k', 'math', 'bbh'] as const;

/** Apart from the seeds of `flinch calibrate`, and from those that the defaults were tuned on (1000000 on). */
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
    .addOption(fieldOption('statistic', '<name>'))
    .addOption(fieldOption('candidates', '<number>'))
    .addOption(fieldOption('candidate_temperature', '<number>'))
    .addOption(fieldOption('rollback_to', '<place>'))
    .addOption(fieldOption('max_rollbacks', '<number>'))
    .addHelpText(
      'after',
      `
All arms answer the same problems with the same seeds; if a guard flags nothing, its answer is the unguarded one.
Differences are paired (McNemar's exact test, Newcombe's interval). The first arm flags by the guard's rate; every other
measure, and chance, flags as many steps as the first arm. "always" takes every step for flagged. Each arm is compared
with self-consistency at each temperature, for as many tokens.

Examples:
  $ flinch bench correct --out /tmp/correct
  $ flinch bench correct --temperature 1 --out /tmp/correct-1
  $ flinch bench correct --suite gsm8k --model ./Qwen2.5-1.5B-Instruct --temperature 0.7 --out /tmp/correct-gsm8k
  $ flinch bench correct --problems 200 --arms "nll,majority;chance,majority" --samples 0`,
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
    process.stdout.write(`${options.json ? JSON.stringify(report) : formatCorrect(report)}\n`);
  } finally {
    await engine.close();
  }
}

async function measure(engine: Engine, options: CorrectOptions): Promise<CorrectReport> {
  const { seed, arms, out = null } = options;
  const temperature = options.temperature ?? samplingDefaults(engine.checkpoint.generation).temperature;
  const problems = await problemsOf(engine, options);
  const [main] = arms as readonly [Arm, ...Arm[]];
  if (main.trigger === 'chance' || main.trigger === 'always')
    throw new UsageError('--arms: the first arm must flag by a measure');
  const guard: Guard = {
    ...DEFAULT_GUARD,
    method: methodOf(main.trigger),
    rate: options.rate,
    statistic: options.statistic,
    candidates: options.candidates,
    rollbackTo: options.rollbackTo,
    maxRollbacks: options.maxRollbacks,
    ...(options.candidateTemperature !== undefined && { temperature: options.candidateTemperature }),
  };
  const risks = await risksFor(engine, methodOf(main.trigger));
  if (out !== null) {
    const model = await fingerprint(engine.checkpoint);
    const { suite, maxTokens, precision } = options;
    claimFolder(out, {
      model,
      precision,
      suite,
      seed,
      temperature,
      maxTokens,
      methods: methodsOf(arms),
      guard,
    });
  }
  const suite = suites[options.suite];
  const { maxTokens } = options;
  const run: RunOptions = { engine, suite, maxTokens, problems, seed, temperature, folder: out };
  const unguarded = await runUnguarded(run, guard, methodsOf(arms));
  const flagShare = (trigger: Trigger, settings: ArmSettings): number => {
    const flags = unguarded.map((answer, i) => flagCount(trigger, answer, seed + i, settings));
    return total(flags) / total(unguarded.map(({ steps }) => steps.length));
  };
  const share = flagShare(main.trigger, {
    guard,
    risks,
    main: main.trigger,
    share: 0,
    thresholds: new Map(),
  });
  const thresholds = new Map(
    methodsOf(arms).map((method) => [method, thresholdFor(method, unguarded, guard.statistic, share)]),
  );
  const settings: ArmSettings = { guard, risks, main: main.trigger, share, thresholds };

  const first = problems.map((problem, i) => sampleOf(suite, problem, unguarded[i]!));
  const ladders: Ladder[] = [];
  for (const other of [temperature, ...options.controls.filter((control) => control !== temperature)]) {
    const samplings: Sampling[] = other === temperature ? [first] : [];
    // At temperature 0 every answer is the same.
    const last = other === 0 ? 0 : options.samples;
    for (let number = samplings.length; number <= last; number++)
      samplings.push(await runSamples({ ...run, temperature: other }, number));
    ladders.push(ladder(other, samplings));
  }
  const outcomes: Outcome[] = [];
  const trials = new Map<string, readonly Trial[]>();
  for (const arm of arms) {
    const name = nameOf(arm);
    const answers = await runArm(run, arm, settings, unguarded);
    trials.set(name, answers);
    outcomes.push(outcomeOf(name, answers));
  }
  const none = ladders[0]!.rungs[0]!;
  const chance = (arm: Arm): Outcome[] =>
    outcomes.filter(({ name }) => arm.trigger !== 'chance' && name === nameOf({ ...arm, trigger: 'chance' }));
  const guarded = arms.map((arm, i) =>
    compare(outcomes[i]!, [
      none,
      ...chance(arm),
      ...ladders.map((unguardedWays) => sameBudget(outcomes[i]!, unguardedWays)),
    ]),
  );
  const ways = ladders.map(({ temperature, rungs }) => ({
    temperature,
    rungs: rungs.map((rung) => compare(rung, rung === none ? [] : [none])),
  }));
  return {
    command: commandLine('correct'),
    model: engine.checkpoint.name,
    precision: options.precision,
    machine: thisMachine(),
    suite: suite.name,
    problems: problems.length,
    seed,
    temperature,
    guard,
    flagged: Object.fromEntries(
      [...new Set(arms.map(({ trigger }) => trigger))].map((trigger) => [
        trigger,
        flagShare(trigger, settings),
      ]),
    ),
    guarded,
    unguarded: ways,
    outcomes: [...ladders.flatMap(({ rungs }) => rungs), ...outcomes].map(({ name, right, tokens }) => ({
      name,
      right: right.map(Number).join(''),
      tokens,
    })),
    families: [...new Set(problems.map(({ subset }) => subset))].map((subset) =>
      familyOf(subset, problems, { 'no guard': unguarded, ...Object.fromEntries(trials) }),
    ),
    delays:
      options.held > 0
        ? await measureDelays({ ...run, problems: problems.slice(0, options.held) }, main, settings)
        : null,
  };
}

async function problemsOf(engine: Engine, options: CorrectOptions): Promise<readonly BenchProblem[]> {
  const { suite, data, problems: count, seed, subsets } = options;
  const all = await suites[suite].load({
    folder: suiteFolder(data ?? defaultDataFolder(), suite),
    subsets: subsets ?? (suite === 'tasks' ? tasksOf(engine.checkpoint) : null),
    seed,
    count,
  });
  return limited(all, count);
}

/** @throws UsageError without a calibration that holds for the main arm's measure: its rate would mean nothing */
async function risksFor(engine: Engine, method: Method): Promise<RiskModel> {
  const { checkpoint } = engine;
  const scoring = await absoluteScoring(scoringFor([method]), checkpoint.embeddingRms);
  const file = await readCalibration(calibrationFileOf(checkpoint));
  const { risks, warnings } = await riskModel(checkpoint, file, scoring, [method]);
  if (warnings.length > 0) throw new UsageError(`calibration: ${warnings.join('; ')}`);
  return risks;
}

function outcomeOf(name: string, answers: readonly Trial[]): Outcome {
  return {
    name,
    right: answers.map(({ right }) => right),
    tokens: answers.map(({ generated }) => generated),
    kept: total(answers.map(({ kept }) => kept)),
    replaced: total(answers.map(({ replaced }) => replaced)),
  };
}

function familyOf(
  subset: string,
  problems: readonly BenchProblem[],
  ways: Readonly<Record<string, readonly Trial[]>>,
) {
  const indices = problems.flatMap((problem, i) => (problem.subset === subset ? [i] : []));
  const accuracy = Object.fromEntries(
    Object.entries(ways).map(([name, trials]) => [
      name,
      indices.filter((i) => trials[i]!.right).length / indices.length,
    ]),
  );
  return { subset, problems: indices.length, accuracy };
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

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
