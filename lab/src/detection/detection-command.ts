import { existsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { each } from '#bench/concurrent-map.js';
import { thisMachine } from '#bench/markdown-table.js';
import { claimFolder, Ledger, readResults, SETTINGS_FILE } from '#bench/result-log.js';
import { commandLine } from '#bench/run/command-line.js';
import { generateProblems } from '#bench/tasks/generate.js';
import { TASKS } from '#bench/tasks/problem.js';
import { reportDevices } from '#cli/devices.js';
import { deviceOption, modelOption, precisionOption } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { fingerprint } from '#src/checkpoint/fingerprint.js';
import type { DeviceChoice } from '#src/engine/device.js';
import { Engine } from '#src/engine/engine.js';
import type { Precision } from '#src/engine/precision.js';
import { samplingDefaults } from '#src/engine/sampler.js';
import { UsageError } from '#src/files/errors.js';
import { readJsonFile } from '#src/files/json-text.js';
import { problemOptions } from '../correct/problem-options.js';
import { evaluate, labelled, REFERENCE, type Supervised } from './evaluate.js';
import { type DetectionReport, formatDetection } from './format.js';
import { HiddenStates } from './hidden-states.js';
import { trainProbe } from './linear-probe.js';
import { READINGS } from './measures.js';
import { scoredAnswer, scoredAnswerSchema } from './scored-answer.js';

interface Options {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly precision: Precision;
  readonly problems: number;
  readonly seed: number;
  readonly temperature?: number;
  readonly probe?: string;
  readonly out?: string;
  readonly json?: boolean;
}

/** Seed apart from those of `flinch calibrate` and of the other benchmarks. */
const DEFAULT_SEED = 5_000_000;

/** Detectors whose results are listed by kind of step. */
const GROUPED = [REFERENCE, 'adversarial 16/32, sum', 'entropy, sum'];

const probeSettings = z.object({ model: z.string(), seed: z.int() });
/** Minimum number of wrong steps that a probe is trained on. */
const MIN_WRONG = 20;

const ANSWERS_FILE = 'answers.jsonl';
const keptAnswer = scoredAnswerSchema.extend({ problem: z.int() });

export function detectionCommand(): Command {
  const command = new Command('detection')
    .description('Measure how well each score finds first wrong steps, by statistic and kind of step.')
    .addOption(modelOption())
    .addOption(deviceOption())
    .addOption(precisionOption());
  for (const option of problemOptions({ problems: 1000, seed: DEFAULT_SEED })) command.addOption(option);
  return command
    .option(
      '--probe <folder>',
      'folder of another run (--out): train a linear probe on its labels, as a supervised reference',
    )
    .option('--out <folder>', 'folder for the answers and the report; an interrupted run continues there')
    .option('--json', 'print the results as JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ npm run lab -- detection --temperature 1 --out /tmp/detection
  $ npm run lab -- detection --temperature 1 --precision int8
  $ npm run lab -- detection --seed 6000000 --temperature 1 --probe /tmp/detection --out /tmp/fresh`,
    )
    .action(detection);
}

async function detection(options: Options): Promise<void> {
  const { model, device, precision, out } = options;
  const engine = await Engine.open(model, { device, precision, maxStreams: 64 * availableParallelism() });
  try {
    await reportDevices(engine, device, ['decode', 'score']);
    const report = await measure(engine, options);
    if (out !== undefined) writeFileSync(join(out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    say(`${options.json ? JSON.stringify(report) : formatDetection(report)}\n`);
  } finally {
    await engine.close();
  }
}

async function measure(engine: Engine, options: Options): Promise<DetectionReport> {
  const { problems: count, seed, out } = options;
  const { checkpoint } = engine;
  const hiddenStates = new HiddenStates(checkpoint);
  const model = await fingerprint(checkpoint);
  const supervised =
    options.probe === undefined
      ? undefined
      : await probeOf(options.probe, { model, seed, count, layer: hiddenStates.layer });
  const temperature = options.temperature ?? samplingDefaults(checkpoint.generation).temperature;
  if (out !== undefined) {
    claimFolder(out, { model, seed, temperature, precision: engine.precision, readings: READINGS });
  }
  const file = out === undefined ? null : join(out, ANSWERS_FILE);
  const ledger = await Ledger.open(file, keptAnswer, ({ problem }) => problem);
  const answers = await each(
    'answers',
    generateProblems({ seed, count, tasks: TASKS }),
    async (problem, i) => {
      const sampled = { temperature, seed: seed + i };
      return (
        ledger.get(i) ??
        ledger.add({ problem: i, ...(await scoredAnswer(engine, hiddenStates, problem, sampled)) })
      );
    },
  );
  return {
    command: commandLine('npm run lab --', 'detection'),
    model: checkpoint.name,
    machine: thisMachine(),
    seed,
    temperature,
    ...evaluate(answers, GROUPED, supervised),
  };
}

/**
 * Trains on the labels of another run.
 * @throws UsageError for answers of another model, or to problems of this run, or too few wrong ones
 */
async function probeOf(
  folder: string,
  { model, seed, count, layer }: { model: string; seed: number; count: number; layer: number },
): Promise<Supervised> {
  const file = join(folder, SETTINGS_FILE);
  if (!existsSync(file)) throw new UsageError(`--probe: ${folder} is not the --out of another run`);
  const settings = readJsonFile(file, probeSettings);
  if (settings.model !== model) throw new UsageError(`--probe: ${folder} has answers of another model`);
  const answers: z.output<typeof keptAnswer>[] = [];
  for await (const answer of readResults(join(folder, ANSWERS_FILE), keptAnswer)) answers.push(answer);
  const isShared = ({ problem }: { problem: number }): boolean => {
    const i = settings.seed + problem - seed;
    return i >= 0 && i < count;
  };
  if (answers.some(isShared)) throw new UsageError(`--probe: ${folder} has problems of this run`);
  const examples = labelled(answers);
  const wrong = examples.filter(({ positive }) => positive).length;
  if (wrong < MIN_WRONG)
    throw new UsageError(`--probe: ${folder} has ${wrong} wrong steps; at least ${MIN_WRONG} are needed`);
  const probe = trainProbe(examples);
  return { name: `linear probe, layer ${layer}, ${examples.length} labelled steps`, probe };
}
