import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Command, Option } from 'commander';
import type { DeviceChoice } from '../engine/device.js';
import { Engine } from '../engine/engine.js';
import { METHODS, type Method } from '../uncertainty/method.js';
import type { Schedule } from '../uncertainty/schedule.js';
import {
  type AbsoluteScoring,
  absoluteScoring,
  checkScoring,
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_WINDOW,
  type Scale,
  type Scoring,
} from '../uncertainty/settings.js';
import { scoreResponse } from '../uncertainty/text-scorer.js';
import { LineOutput } from './line-output.js';
import { deviceOption, integer, modelOption, parseAlpha, parseMethods, parseWindow } from './options.js';
import { countLines, Progress } from './progress.js';
import { reportDevices, reportError, UsageError } from './report.js';
import { outputLine, parseInputLine } from './score-lines.js';

interface ScoreOptions {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly input: string;
  readonly output: string;
  readonly methods: Method[];
  readonly alpha: Scale;
  readonly schedule: 'offline' | 'windowed';
  readonly block: number;
  readonly window: number | 'all';
}

export function scoreCommand(): Command {
  return new Command('score')
    .description('Score finished responses, one JSON object a line.')
    .addOption(modelOption())
    .addOption(deviceOption())
    .requiredOption('--input <file>', 'JSON lines to score; - is standard input')
    .option('--output <file>', 'where the scores go; - is standard output', '-')
    .option('--methods <names>', `some of ${METHODS.join(',')}`, parseMethods, [...METHODS])
    .option(
      '--alpha <size>',
      "size of the perturbation; 0.005rms is relative to the embeddings' RMS",
      parseAlpha,
      DEFAULT_ALPHA,
    )
    .addOption(
      new Option('--schedule <kind>', 'one pass over the finished text, or the passes that streaming makes')
        .choices(['offline', 'windowed'])
        .default('offline'),
    )
    .option('--block <tokens>', 'windowed: new tokens per pass', integer(1, 65536), DEFAULT_BLOCK)
    .option(
      '--window <positions>',
      'windowed: positions that a pass covers, or all',
      parseWindow,
      DEFAULT_WINDOW,
    )
    .addHelpText(
      'after',
      `
A line of input:  {"id", "promptIds" | "prompt" | "messages", "responseIds" | "response"}
A line of output: {"id", "model", "schedule", "positions", "tokens": [{"index", "id", "text", "logprob",
                   "scores": {"nll", "entropy", "margin", "adversarial"}, "rival": {"id", "text", "before", "after"}}]}

Lines that cannot be scored are reported on standard error, the others are scored all the same, and the exit
code is 1.

Examples:
  $ flinch score --input answers.jsonl --output scores.jsonl
  $ echo '{"id": 1, "messages": [{"role": "user", "content": "What is 2 + 3?"}], "response": "2 + 3 = 5."}' \\
      | flinch score --input - --schedule windowed --window all`,
    )
    .action(score);
}

async function score(options: ScoreOptions): Promise<void> {
  const { methods, alpha, device } = options;
  const scoring: Scoring = { methods, alpha, schedule: scheduleOf(options) };
  checkScoring(scoring);
  // Everything that can be wrong is found out before the output, which may hold earlier results, is touched.
  const engine = await Engine.open(options.model, { device, scoreThreads: availableParallelism() });
  try {
    await reportDevices(engine, device, ['score']);
    const absolute = await absoluteScoring(scoring, engine.checkpoint.embeddingRms);
    const input = await openInput(options.input);
    await refuseSameFile(options.input, options.output);
    const output = await LineOutput.open(options.output);
    await scoreLines(engine, input, output, options.input, absolute).finally(() => output.close());
  } finally {
    await engine.close();
  }
}

async function scoreLines(
  engine: Engine,
  input: Readable,
  output: LineOutput,
  name: string,
  scoring: AbsoluteScoring,
): Promise<void> {
  const progress = new Progress(await countLines(name));
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  let interrupted = false;
  process.once('SIGINT', () => {
    interrupted = true;
    process.exitCode = 130;
    lines.close();
  });
  let number = 0;
  try {
    for await (const line of lines) {
      if (interrupted) break;
      number += 1;
      if (line.trim() === '') continue;
      const text = await scoreLine(engine, line, `${name === '-' ? 'input' : name}:${number}`, scoring);
      if (text === null) process.exitCode = 1;
      else await output.write(text);
      progress.advance();
    }
  } finally {
    progress.stop();
    input.destroy();
  }
}

/** A line of output, or `null` for one that was reported instead. A lost process may come back; others go on. */
async function scoreLine(
  engine: Engine,
  line: string,
  where: string,
  scoring: AbsoluteScoring,
): Promise<string | null> {
  try {
    const { id, promptIds, responseIds } = parseInputLine(line, engine.checkpoint);
    const response = await scoreResponse(engine, promptIds, responseIds, scoring);
    return JSON.stringify(outputLine(id, engine.checkpoint, scoring, response));
  } catch (error) {
    reportError(
      error instanceof Error ? new UsageError(`${where}: ${error.message}`, { cause: error }) : error,
    );
    return null;
  }
}

function scheduleOf({ schedule, block, window }: ScoreOptions): Schedule {
  return schedule === 'offline' ? { kind: 'offline' } : { kind: 'windowed', block, window };
}

async function openInput(name: string): Promise<Readable> {
  if (name === '-') return process.stdin;
  const file = createReadStream(name);
  await new Promise<void>((resolve, reject) => {
    file.once('ready', resolve);
    file.once('error', reject);
  });
  return file;
}

async function refuseSameFile(input: string, output: string): Promise<void> {
  if (input === '-' || output === '-') return;
  const [from, to] = await Promise.all([stat(input), stat(output).catch(() => null)]);
  if (to && from.dev === to.dev && from.ino === to.ino)
    throw new UsageError('--output: is the file of --input');
}
