import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { thisMachine } from '#bench/markdown-table.js';
import { claimFolder } from '#bench/result-log.js';
import { commandLine } from '#bench/run/command-line.js';
import { suites } from '#bench/suites/suites.js';
import { reportDevices } from '#cli/devices.js';
import { deviceOption, modelOption } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import type { DeviceChoice } from '#src/engine/device.js';
import { Engine } from '#src/engine/engine.js';
import { samplingDefaults } from '#src/engine/sampler.js';
import { UsageError } from '#src/files/errors.js';
import { DEFAULT_GUARD, type Guard } from '#src/guard/guard.js';
import { calibrationOf } from '#src/risk/calibration-file.js';
import { STEP_STATISTIC } from '#src/risk/risk.js';
import { riskModel } from '#src/risk/risk-model.js';
import { TASKS } from '#src/tasks/problem.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { absoluteScoring } from '#src/uncertainty/settings.js';
import { scoringFor } from '../correct/arms.js';
import { problemOptions } from '../correct/problem-options.js';
import { runUnguarded } from '../correct/run.js';
import { judged } from './judged-answer.js';
import { evaluate, formatVerdict, type VerdictReport } from './verdict-report.js';

interface VerdictOptions {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly problems: number;
  readonly seed: number;
  readonly temperature?: number;
  readonly method: (typeof DEFAULT_METHODS)[number];
  readonly out?: string;
  readonly json?: boolean;
}

/**
 * Seed apart from those of `flinch calibrate`, and from those that the score of an answer was chosen on
 * (3000000 on).
 */
const DEFAULT_SEED = 4_000_000;

export function verdictCommand(): Command {
  const command = new Command('verdict')
    .description(
      'Measure the verdict on whole answers: its false alarms, and the wrong answers that it finds.',
    )
    .addOption(modelOption())
    .addOption(deviceOption());
  for (const option of problemOptions({ problems: 1450, seed: DEFAULT_SEED })) command.addOption(option);
  return command
    .addOption(
      new Option('--method <name>', 'score that steps are judged by')
        .choices(DEFAULT_METHODS)
        .default(DEFAULT_GUARD.method),
    )
    .option('--out <folder>', 'folder for the answers and the report; an interrupted run continues there')
    .option('--json', 'print the results as JSON')
    .addHelpText(
      'after',
      `
The model must have a calibration that contains whole answers (flinch calibrate).

Example:
  $ npm run lab -- verdict --out /tmp/verdict`,
    )
    .action(verdict);
}

async function verdict(options: VerdictOptions): Promise<void> {
  const { model, device, out } = options;
  const engine = await Engine.open(model, { device, maxStreams: 64 * availableParallelism() });
  try {
    await reportDevices(engine, device, ['decode', 'score']);
    const report = await measure(engine, options);
    if (out !== undefined) writeFileSync(join(out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    say(`${options.json ? JSON.stringify(report) : formatVerdict(report)}\n`);
  } finally {
    await engine.close();
  }
}

/** @throws UsageError without a calibration of whole answers: their risk would mean nothing */
async function measure(engine: Engine, options: VerdictOptions): Promise<VerdictReport> {
  const { problems: count, seed, out = null } = options;
  const { checkpoint } = engine;
  const temperature = options.temperature ?? samplingDefaults(checkpoint.generation).temperature;
  const guard: Guard = { ...DEFAULT_GUARD, method: options.method };
  const { method } = guard;
  const statistic = STEP_STATISTIC;
  const scoring = await absoluteScoring(scoringFor(DEFAULT_METHODS), checkpoint.embeddingRms);
  const file = await calibrationOf(checkpoint);
  const { risks } = await riskModel(checkpoint, file, scoring, [method]);
  if (!risks.calibrated(method, 'answer')) throw new UsageError(`calibration: has no answers by ${method}`);
  const highest = risks.ofAnswer(method, statistic, Number.POSITIVE_INFINITY) ?? 0; // n / (n + 1)
  if (out !== null) {
    const model = await fingerprint(checkpoint);
    claimFolder(out, { model, seed, temperature, methods: DEFAULT_METHODS, guard });
  }
  const suite = suites.tasks;
  const problems = await suite.load({ folder: null, subsets: TASKS, seed, count });
  const maxTokens = engine.contextLength;
  const run = { engine, suite, maxTokens, problems, seed, temperature, folder: out };
  const answers = await runUnguarded(run, guard, DEFAULT_METHODS);
  return {
    command: commandLine('npm run lab --', 'verdict'),
    model: checkpoint.name,
    machine: thisMachine(),
    problems: count,
    seed,
    temperature,
    method,
    statistic,
    calibration: Math.round(1 / (1 - highest)) - 1,
    ...evaluate(
      answers.map((answer, i) => judged(suite, problems[i]!, answer, risks, { method, statistic })),
    ),
  };
}
