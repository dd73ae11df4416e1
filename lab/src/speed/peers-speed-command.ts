import { writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { integer } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { withCacheIn } from '../peers/folder.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import type { Contestant } from './contestant.js';
import { formatPeersSpeed, measurePeers, type PeersSpeed } from './peers-speed.js';
import { GGUF_FORMATS, type GgufFormat } from './random-gguf.js';
import {
  JOBS,
  MODELS,
  type ModelName,
  type OpenOptions,
  openContestants,
  PEERS_OF,
  stepsToOpen,
} from './speed-models.js';

interface Options {
  readonly peers?: readonly string[];
  readonly formats: readonly GgufFormat[];
  readonly python: string;
  readonly tokens: number;
  readonly rounds: number;
  readonly output: string;
}

export function peersSpeedCommand(): Command {
  return new Command('peers-speed')
    .description('Measure speed and memory of flinch beside llama.cpp, vLLM and PyTorch.')
    .addArgument(
      new Argument('[model]', 'random weights of that many parameters (small: 9 M), or SmolLM2-135M-Instruct')
        .choices(MODELS)
        .default('135m'),
    )
    .option(
      '--peers <names>',
      `programs to run beside flinch, separated by commas, or none: ${PEERS_OF['135m'].join(', ')}; for smollm2 ${PEERS_OF.smollm2.join(', ')} (default: all)`,
      (text) => (text === 'none' ? [] : text.split(',')),
    )
    .addOption(
      new Option('--formats <names>', `GGUF files of random weights, among ${GGUF_FORMATS.join(',')}`)
        .argParser(parseFormats)
        .default(['F32', 'Q8_0', 'Q4_0'], 'F32,Q8_0,Q4_0'),
    )
    .option('--python <command>', 'Python that has torch, for its offline scores', 'python3')
    .option('--tokens <number>', 'length of each answer', integer(8, 400), 32)
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(1, 100), 3)
    .option('--output <file>', 'write the results as JSON', 'bench-peers.json')
    .addHelpText(
      'after',
      `
Models of random weights are written as GGUF files for flinch and llama.cpp. llama.cpp is installed
from npm, as node-llama-cpp, into the folder of the peers. For smollm2, set up the peers first.

Examples:
  $ npm run lab -- peers-speed
  $ npm run lab -- peers-speed --formats Q8_0 --peers llama
  $ npm run lab -- peers-speed smollm2 --peers vllm-fp32,llama-q4 --rounds 5`,
    )
    .action(bench);
}

function parseFormats(text: string): GgufFormat[] {
  return text.split(',').map((name) => {
    const format = GGUF_FORMATS.find((known) => known === name.trim());
    if (!format) throw new InvalidArgumentError(`"${name}" is not one of ${GGUF_FORMATS.join(', ')}.`);
    return format;
  });
}

async function bench(model: ModelName, options: Options): Promise<void> {
  const { output, formats, python } = options;
  const known: readonly string[] = PEERS_OF[model];
  const peers = options.peers ?? known;
  const stray = peers.find((peer) => !known.includes(peer));
  if (stray !== undefined)
    throw new UsageError(`--peers: "${stray}" is not one of ${known.join(', ')}, which ${model} has`);
  const report = await withTemporaryFolder((temporary) =>
    withCacheIn(temporary, () => run(model, options, { peers, formats, python, temporary })),
  );
  await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${formatPeersSpeed(report)}\n\nwritten to ${output}\n`);
}

async function run(model: ModelName, options: Options, open: OpenOptions): Promise<PeersSpeed> {
  const contestants: Contestant[] = [];
  const kill = (): void => {
    for (const contestant of contestants) contestant.kill();
  };
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.once('exit', kill).once('SIGINT', interrupt).once('SIGTERM', interrupt);
  let progress = new Progress(stepsToOpen(model, open));
  try {
    for await (const some of openContestants(model, open)) {
      contestants.push(...some);
      progress.advance();
    }
    progress.stop();
    const jobs = JOBS[model];
    progress = new Progress((1 + options.rounds) * jobs.length * contestants.length);
    const onTurn = (): void => progress.advance();
    return await measurePeers(contestants, { ...options, model, jobs, onTurn });
  } finally {
    progress.stop();
    await Promise.all(contestants.map((contestant) => contestant.close()));
    process.off('exit', kill).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
