import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import {
  type DeviceChoice,
  deviceOption,
  Engine,
  fingerprint,
  generateProblems,
  modelOption,
  reportDevices,
  samplingDefaults,
  tasksOf,
} from 'flinch/internals';
import { z } from 'zod';
import { each } from '../concurrent-map.js';
import { problemOptions } from '../correct/problem-options.js';
import { thisMachine } from '../markdown-table.js';
import { claimFolder, Ledger } from '../result-log.js';
import { commandLine } from '../run/command-line.js';
import { evaluate } from './evaluate.js';
import { type DetectionReport, formatDetection } from './format.js';
import { READINGS } from './measures.js';
import { scoredAnswer, scoredAnswerSchema } from './scored-answer.js';

interface Options {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly problems: number;
  readonly seed: number;
  readonly temperature?: number;
  readonly out?: string;
  readonly json?: boolean;
}

/** Apart from those of `flinch calibrate` and of the other benchmarks. */
const DEFAULT_SEED = 5_000_000;

/** Told apart by kind of step: the guard's default, the default before it, and the best of the probabilities. */
const GROUPED = ['adversarial 16/32, sum', 'adversarial 8/64, max', 'entropy, sum'];

export function detectionCommand(): Command {
  const command = new Command('detection')
    .description('Measure how well each score finds first wrong steps, by statistic and kind of step.')
    .addOption(modelOption())
    .addOption(deviceOption());
  for (const option of problemOptions({ problems: 1000, seed: DEFAULT_SEED })) command.addOption(option);
  return command
    .option('--out <folder>', 'folder for the answers and the report; an interrupted run continues there')
    .option('--json', 'print the results as JSON')
    .addHelpText('after', '\nExample:\n  $ flinch bench detection --temperature 1 --out /tmp/detection')
    .action(detection);
}

async function detection(options: Options): Promise<void> {
  const { model, device, out } = options;
  const engine = await Engine.open(model, { device, maxStreams: 64 * availableParallelism() });
  try {
    await reportDevices(engine, device, ['decode', 'score']);
    const report = await measure(engine, options);
    if (out !== undefined) writeFileSync(join(out, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    process.stdout.write(`${options.json ? JSON.stringify(report) : formatDetection(report)}\n`);
  } finally {
    await engine.close();
  }
}

async function measure(engine: Engine, options: Options): Promise<DetectionReport> {
  const { problems: count, seed, out } = options;
  const { checkpoint } = engine;
  const temperature = options.temperature ?? samplingDefaults(checkpoint.generation).temperature;
  if (out !== undefined) {
    claimFolder(out, { model: await fingerprint(checkpoint), seed, temperature, readings: READINGS });
  }
  const kept = scoredAnswerSchema.extend({ problem: z.int() });
  const file = out === undefined ? null : join(out, 'answers.jsonl');
  const ledger = await Ledger.open(file, kept, ({ problem }) => problem);
  const answers = await each(
    'answers',
    generateProblems({ seed, count, tasks: tasksOf(checkpoint) }),
    async (problem, i) => {
      const sampled = { temperature, seed: seed + i };
      return ledger.get(i) ?? ledger.add({ problem: i, ...(await scoredAnswer(engine, problem, sampled)) });
    },
  );
  return {
    command: commandLine('detection'),
    model: checkpoint.name,
    machine: thisMachine(),
    seed,
    temperature,
    ...evaluate(answers, GROUPED),
  };
}
