import { writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { thisMachine } from '#bench/markdown-table.js';
import { integer, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { withCacheIn } from '../peers/folder.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { runFlinchProcess } from './flinch-process.js';
import { formatPeersSpeed, type ModelSpeed, measurePeers } from './peers-speed.js';
import { GGUF_FORMATS, type GgufFormat } from './random-gguf.js';
import { defaultModels, MODELS, type ModelName, PEERS_OF, prepareModel } from './speed-models.js';

interface Options {
  readonly peers?: readonly string[];
  readonly formats: readonly GgufFormat[];
  readonly python: string;
  readonly tokens: number;
  readonly rounds: number;
  readonly temperature: number;
  readonly output: string;
  readonly contestant?: string;
}

export function peersSpeedCommand(): Command {
  return new Command('peers-speed')
    .description('Measure speed and memory of flinch beside llama.cpp, vLLM and PyTorch.')
    .addArgument(
      new Argument(
        '[models...]',
        'Qwen2.5-Coder-Instruct, random weights of that many parameters (small: 9 M), or SmolLM2-135M-Instruct (default: the Qwen models that are set up, else 135m)',
      ).choices(MODELS),
    )
    .option(
      '--peers <names>',
      `programs to run beside flinch, separated by commas, or none: ${PEERS_OF['135m'].join(', ')}; for the Qwen models ${PEERS_OF['qwen-0.5b'].join(', ')}; for smollm2 ${PEERS_OF.smollm2.join(', ')} (default: all)`,
      (text) => (text === 'none' ? [] : text.split(',')),
    )
    .addOption(
      new Option('--formats <names>', `GGUF files of random weights, among ${GGUF_FORMATS.join(',')}`)
        .argParser(parseFormats)
        .default(['F32', 'Q8_0', 'Q4_0'], 'F32,Q8_0,Q4_0'),
    )
    .option('--python <command>', 'Python that has torch, for its offline scores', 'python3')
    .option('--tokens <number>', 'length of each answer', integer(8, 400), 48)
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(1, 100), 3)
    .option('--temperature <number>', "of flinch's text; the others write greedily", real(0, 2), 0)
    .option('--output <file>', 'write the results as JSON', 'bench-peers.json')
    .addOption(new Option('--contestant <json>', 'be the process of a contestant').hideHelp())
    .addHelpText(
      'after',
      `
Set up the Qwen models and smollm2 first. Models of random weights are written as GGUF files. flinch and
llama.cpp read the same file. llama.cpp is installed from npm, as node-llama-cpp, into the folder of the peers.

Examples:
  $ npm run lab -- peers up qwen-0.5b qwen-1.5b && npm run lab -- peers-speed
  $ npm run lab -- peers-speed 135m --formats Q8_0 --peers llama
  $ npm run lab -- peers-speed smollm2 --peers vllm-fp32,llama-q4 --rounds 5`,
    )
    .action((models: readonly ModelName[], options: Options) =>
      options.contestant === undefined ? bench(models, options) : runFlinchProcess(options.contestant),
    );
}

function parseFormats(text: string): GgufFormat[] {
  return text.split(',').map((name) => {
    const format = GGUF_FORMATS.find((known) => known === name.trim());
    if (!format) throw new InvalidArgumentError(`"${name}" is not one of ${GGUF_FORMATS.join(', ')}.`);
    return format;
  });
}

async function bench(named: readonly ModelName[], options: Options): Promise<void> {
  const { output, tokens, rounds } = options;
  const models = named.length > 0 ? [...new Set(named)] : defaultModels();
  for (const model of models) peersOf(model, options);
  const speeds: ModelSpeed[] = [];
  for (const model of models) {
    const speed = await withTemporaryFolder((temporary) =>
      withCacheIn(temporary, () => run(model, options, temporary)),
    );
    speeds.push(speed);
  }
  const report = { machine: thisMachine(), tokens, rounds, models: speeds };
  await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${formatPeersSpeed(report)}\n\nwritten to ${output}\n`);
}

/** @throws UsageError if one of them does not run the model */
function peersOf(model: ModelName, { peers }: Options): readonly string[] {
  const known: readonly string[] = PEERS_OF[model];
  const stray = peers?.find((peer) => !known.includes(peer));
  if (stray !== undefined)
    throw new UsageError(`--peers: "${stray}" is not one of ${known.join(', ')}, which ${model} has`);
  return peers ?? known;
}

async function run(model: ModelName, options: Options, temporary: string): Promise<ModelSpeed> {
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  let progress: Progress | undefined;
  try {
    const peers = peersOf(model, options);
    const { jobs, contestants } = await prepareModel(model, { ...options, peers, temporary });
    progress = new Progress(options.rounds * contestants.length);
    return await measurePeers(contestants, {
      model,
      jobs,
      tokens: options.tokens,
      rounds: options.rounds,
      onTurn: () => progress?.advance(),
    });
  } finally {
    progress?.stop();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
