import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Command } from 'commander';
import type { DeviceChoice } from '../../src/engine/device.js';
import { Engine } from '../../src/engine/engine.js';
import { UsageError } from '../../src/files/file-errors.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import { scoreResponse } from '../../src/uncertainty/sequence-scorer.js';
import { type AbsoluteScoring, absoluteScoring, DEFAULT_RANDOM } from '../../src/uncertainty/settings.js';
import { reportDevices } from '../devices.js';
import { reportError } from '../exit-errors.js';
import { reportOpening } from '../opening-progress.js';
import { optionFile } from '../option-file.js';
import { deviceOption, integer, modelOption } from '../options.js';
import { Progress } from '../progress.js';
import { addScoringOption, METHOD_HELP, methodsOption, scoringOf } from '../scoring-options.js';
import { streams } from '../terminal.js';
import { linesOf, textOf } from './input-lines.js';
import { LineOutput } from './line-output.js';
import { outputLine, parseInputLine } from './score-lines.js';

/** The options of scoring are read by {@link scoringOf}. */
interface ScoreOptions {
  readonly scoring: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly output: string;
  readonly methods: Method[];
  readonly seed: number;
}

export function scoreCommand(): Command {
  const command = new Command('score')
    .argument('<file>', 'file of responses in JSON Lines; - reads standard input')
    .addOption(modelOption())
    .addOption(deviceOption())
    .option('--output <file>', 'file to write; - is standard output', '-')
    .addOption(methodsOption());
  return addScoringOption(command, ['offline', 'windowed', 'lazy'])
    .option(
      '--seed <number>',
      'random, tokur_*: seed of the noise',
      integer(0, 2 ** 31 - 1),
      DEFAULT_RANDOM.seed,
    )
    .addHelpText(
      'after',
      `
${METHOD_HELP}

Input line:
  {"id", "promptIds" | "prompt" | "messages", "responseIds" | "response"}
Output line, including the settings that affect the scores:
  {"id", "model", "schedule", "alpha", …, "positions", "tokens": [{"index", "id", "text", "logprob",
    "scores": {"adversarial", "nll", …}, "skipped": ["adversarial"],
    "rival": {"id", "text", "before", "after"}}]}
Lines that cannot be scored are reported on standard error, and the exit code is 1. The other lines
are scored.

Examples:
  $ flinch score answers.jsonl --output scores.jsonl
  $ echo '{"id": 1, "messages": [{"role": "user", "content": "2 + 3?"}], "response": "5"}' \\
      | flinch score - --scoring schedule=windowed,window=all
  $ flinch score answers.jsonl --methods adversarial,random --scoring sigma=0.01rms,samples=40
  $ flinch score answers.jsonl --methods tokur_eu,nll --scoring tokur_samples=5 --seed 1
  $ flinch score answers.jsonl --scoring schedule=lazy,epsilon=0.05,derivative`,
    )
    .action(score);
}

async function score(file: string, options: ScoreOptions): Promise<void> {
  const { device } = options;
  const asked = scoringOf(options, options.methods, options.seed);
  // Everything that can be wrong is found out before the output, which may hold earlier results, is touched.
  const engine = await Engine.open(options.model, { device, ...reportOpening() });
  try {
    await reportDevices(engine, device, ['score']);
    const absolute = await absoluteScoring(asked, engine.checkpoint.embeddingRms);
    const input = await optionFile('input', file, openInput(file));
    await refuseSameFile(file, options.output);
    const output = await optionFile('--output', options.output, LineOutput.open(options.output));
    await scoreLines(engine, input, output, file, absolute).finally(() => output.close());
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
  const progress = new Progress(null);
  let interrupted = false;
  process.once('SIGINT', () => {
    interrupted = true;
    process.exitCode = 130;
    input.destroy();
  });
  let number = 0;
  try {
    for await (const line of linesOf(input)) {
      if (interrupted) break;
      number += 1;
      if (line.every((byte) => byte <= SPACE)) continue;
      const text = await scoreLine(engine, line, `${name === '-' ? 'input' : name}:${number}`, scoring);
      if (text === null) process.exitCode = 1;
      else await output.write(text);
      progress.advance();
    }
  } catch (error) {
    if (!interrupted) throw error;
  } finally {
    progress.stop();
    input.destroy();
  }
}

/** Bytes of white space, and of other characters that print nothing. */
const SPACE = 0x20;

/** A line of output, or `null` for one that was reported instead. A lost process may come back; others go on. */
async function scoreLine(
  engine: Engine,
  line: Uint8Array,
  where: string,
  scoring: AbsoluteScoring,
): Promise<string | null> {
  try {
    const { id, promptIds, responseIds } = parseInputLine(textOf(line), engine.checkpoint);
    const response = await scoreResponse(engine, promptIds, responseIds, scoring);
    return JSON.stringify(outputLine(id, engine.checkpoint, scoring, response));
  } catch (error) {
    reportError(
      error instanceof Error ? new UsageError(`${where}: ${error.message}`, { cause: error }) : error,
    );
    return null;
  }
}

async function openInput(name: string): Promise<Readable> {
  if (name === '-') return streams.stdin;
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
    throw new UsageError('--output: is the same file as the input');
}
