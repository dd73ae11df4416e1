import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Command, Option } from 'commander';
import type { DeviceChoice } from '../../src/engine/device.js';
import { Engine } from '../../src/engine/engine.js';
import { UsageError } from '../../src/files/file-errors.js';
import { DEFAULT_GUARD } from '../../src/guard/guard.js';
import { calibrationOf, judgeOf } from '../../src/risk/calibration-file.js';
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
import { say, streams } from '../terminal.js';
import { linesOf, textOf } from './input-lines.js';
import { LineOutput } from './line-output.js';
import { type OutputLine, outputLine, parseInputLine } from './score-lines.js';
import { type DoubtfulAnswer, doubtfulAnswer, formatAnswers } from './worst-first.js';

/** The options of scoring are read by {@link scoringOf}. */
interface ScoreOptions {
  readonly scoring: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly output: string;
  readonly methods: Method[];
  readonly seed: number;
  readonly top?: number;
  readonly json?: true;
}

export function scoreCommand(): Command {
  const command = new Command('score')
    .argument('<file>', 'file of responses in JSON Lines; - reads standard input')
    .addOption(modelOption())
    .addOption(
      new Option('--top <number>', 'print a table of this many answers, the most doubtful first')
        .argParser(integer(1, 1e6))
        .conflicts('json'),
    )
    .option('--output <file>', 'file to write; - is standard output', '-')
    .option('--json', 'print JSON Lines, also at a terminal')
    .addOption(deviceOption())
    .optionsGroup('For research:')
    .addOption(methodsOption());
  return addScoringOption(command, { finished: true })
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

Input line, of which the id is the line's number unless it has one:
  {"id", "promptIds" | "prompt" | "messages", "responseIds" | "response"}
Output line, including the settings that affect the scores:
  {"id", "model", "schedule", "alpha", …, "positions", "tokens": [{"index", "id",
    "text", "logprob", "scores": {"adversarial", "nll", …},
    "skipped": ["adversarial"], "rival": {"id", "text", "before", "after"}}]}

At a terminal it is a table of all answers instead, the most doubtful first, as the guard judges
answers, by the method that the calibration of the model names. Lines that cannot be scored are
reported on standard error, and the exit code is 1. The other lines are scored.

Examples:
  $ flinch score answers.jsonl --top 20
  $ flinch score answers.jsonl --output scores.jsonl
  $ echo '{"prompt": "2 + 3 =", "response": " 5"}' | flinch score -
  $ flinch score answers.jsonl --methods random --scoring samples=40
  $ flinch score answers.jsonl --scoring schedule=windowed,window=all`,
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
    const method = asTable(options) ? await judging(engine, options) : null;
    const output =
      method !== null && options.output === '-'
        ? null
        : await optionFile('--output', options.output, LineOutput.open(options.output));
    const answers: DoubtfulAnswer[] = [];
    const take = async (line: OutputLine): Promise<void> => {
      await output?.write(JSON.stringify(line));
      if (method !== null) answers.push(doubtfulAnswer(line, method));
    };
    await scoreLines(engine, input, take, file, absolute).finally(() => output?.close());
    if (method !== null)
      say(formatAnswers(answers, { method, top: options.top, width: streams.stdout.columns }));
  } finally {
    await engine.close();
  }
}

/** Whether people read standard output, and it has nothing else. */
const asTable = ({ top, json, output }: ScoreOptions): boolean =>
  top !== undefined || (!json && output === '-' && streams.stdout.isTTY === true);

/** The method by which answers are sorted. */
async function judging({ checkpoint }: Engine, { methods }: ScoreOptions): Promise<Method> {
  const judge = (await judgeOf(checkpoint, await calibrationOf(checkpoint))) ?? DEFAULT_GUARD.method;
  return methods.includes(judge) ? judge : methods[0]!;
}

async function scoreLines(
  engine: Engine,
  input: Readable,
  take: (line: OutputLine) => Promise<void>,
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
      const scored = await scoreLine(engine, line, { name: name === '-' ? 'input' : name, number }, scoring);
      if (scored === null) process.exitCode = 1;
      else await take(scored);
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
  { name, number }: { readonly name: string; readonly number: number },
  scoring: AbsoluteScoring,
): Promise<OutputLine | null> {
  try {
    const { id, promptIds, responseIds } = parseInputLine(textOf(line), number, engine.checkpoint);
    const response = await scoreResponse(engine, promptIds, responseIds, scoring);
    return outputLine(id, engine.checkpoint, scoring, response);
  } catch (error) {
    reportError(
      error instanceof Error
        ? new UsageError(`${name}:${number}: ${error.message}`, { cause: error })
        : error,
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
