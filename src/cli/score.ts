import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { Command, Option } from 'commander';
import { Engine } from '../engine/engine.js';
import { DEFAULT_ALPHA } from '../uncertainty/adversarial.js';
import { METHODS, type Method } from '../uncertainty/method.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW, type Schedule } from '../uncertainty/schedule.js';
import { type Scoring, scoreResponse } from '../uncertainty/text-scorer.js';
import { integer, modelOption, parseAlpha, parseMethods, parseWindow } from './options.js';
import { countLines, Progress } from './progress.js';
import { reportError, UsageError } from './report.js';
import { outputLine, parseInputLine } from './score-lines.js';

interface ScoreOptions {
  readonly model: string;
  readonly input: string;
  readonly output: string;
  readonly methods: Method[];
  readonly alpha: number;
  readonly schedule: 'offline' | 'windowed';
  readonly block: number;
  readonly window: number | 'all';
}

export function scoreCommand(): Command {
  return new Command('score')
    .description('Score finished responses, one JSON object a line.')
    .addOption(modelOption())
    .requiredOption('--input <file>', 'JSON lines to score; - is standard input')
    .option('--output <file>', 'where the scores go; - is standard output', '-')
    .option('--methods <names>', `some of ${METHODS.join(',')}`, parseMethods, [...METHODS])
    .option('--alpha <number>', 'size of the perturbation', parseAlpha, DEFAULT_ALPHA)
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
  const { methods, alpha } = options;
  const scoring: Scoring = { methods, alpha, schedule: scheduleOf(options) };
  const input = options.input === '-' ? process.stdin : createReadStream(options.input);
  // Before the engine starts: a file that is not there should be said at once.
  if (options.input !== '-') await once(input, 'open');
  const output = options.output === '-' ? process.stdout : createWriteStream(options.output);
  if (options.output !== '-') await once(output, 'open');
  const engine = await Engine.open(options.model, { scoreThreads: availableParallelism() });
  const progress = new Progress(options.input === '-' ? null : await countLines(options.input));
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (interrupted.signal.aborted) break;
      number += 1;
      if (line.trim() === '') continue;
      const text = await scoreLine(
        engine,
        line,
        `${options.input === '-' ? 'input' : options.input}:${number}`,
        scoring,
      );
      if (text === null) process.exitCode = 1;
      else if (!output.write(`${text}\n`)) await once(output, 'drain');
      progress.advance();
    }
    if (interrupted.signal.aborted) process.exitCode = 130;
  } finally {
    progress.stop();
    await engine.close();
    if (output !== process.stdout) {
      output.end();
      await once(output, 'close');
    }
  }
}

/** A line of output, or `null` for one that was reported instead. A lost process may come back; others go on. */
async function scoreLine(
  engine: Engine,
  line: string,
  where: string,
  scoring: Scoring,
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
  if (schedule === 'offline') return { kind: 'offline' };
  if (window !== 'all' && window < block) throw new UsageError('--window must be at least --block');
  return { kind: 'windowed', block, window };
}
