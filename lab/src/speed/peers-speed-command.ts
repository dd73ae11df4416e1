import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Argument, Command, Option } from 'commander';
import { integer, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { UsageError } from '#src/files/file-errors.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { ggufOf, nodeLlamaFolder } from '../peers/peers-folder.js';
import { llamaContestant } from './contestant.js';
import { flinchContestants, runFlinchProcess } from './flinch-contestant.js';
import { formatPeersSpeed, measurePeers } from './peers-speed.js';

const MODELS = ['qwen-0.5b', 'qwen-1.5b'] as const;

interface Options {
  readonly alone?: boolean;
  readonly tokens: number;
  readonly rounds: number;
  readonly temperature: number;
  readonly contestant?: string;
}

/** Positions of the prompt and the longest answer. */
const CONTEXT = 1024;

/** Of GSM8K (Cobbe et al. 2021), its first problem. */
const PROBLEM = [
  { role: 'system', content: 'You are a helpful assistant.' },
  {
    role: 'user',
    content:
      "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes muffins for her friends every day with four. She sells the remainder at the farmers' market daily for $2 per fresh duck egg. How much in dollars does she make every day at the farmers' market?",
  },
] as const;

export function peersSpeedCommand(): Command {
  return new Command('peers-speed')
    .description('Measure speed and memory of flinch and llama.cpp, with the same GGUF file.')
    .addArgument(
      new Argument('[models...]', 'Qwen2.5-Coder-Instruct').choices(MODELS).default([...MODELS], 'both'),
    )
    .option('--alone', 'without llama.cpp; compared with flinch without scores')
    .option('--tokens <number>', 'length of each answer', integer(8, 400), 48)
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(1, 100), 3)
    .option('--temperature <number>', "of flinch's text; llama.cpp writes greedily", real(0, 2), 0)
    .addOption(new Option('--contestant <json>', 'be the process of a contestant').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ npm run lab -- peers up node-llama-cpp qwen-0.5b qwen-1.5b && npm run lab -- peers-speed
  $ npm run lab -- peers-speed qwen-0.5b --alone --rounds 2 --temperature 0.2`,
    )
    .action(async (models: readonly (typeof MODELS)[number][], options: Options) => {
      if (options.contestant !== undefined) return runFlinchProcess(options.contestant);
      for (const model of models) say(`${await measured(model, options)}\n\n`);
    });
}

async function measured(name: (typeof MODELS)[number], options: Options): Promise<string> {
  const { alone = false, tokens, rounds, temperature } = options;
  const model = ggufOf(name);
  for (const [peer, file] of [[name, model], ...(alone ? [] : [['node-llama-cpp', nodeLlamaFolder()]])])
    if (!existsSync(file!)) throw new UsageError(`${peer} is not set up: npm run lab -- peers up ${peer}`);
  const threads = alone ? [] : [...new Set([1, availableParallelism()])];
  const contestants = [
    ...flinchContestants({ model, temperature, contextLength: CONTEXT }),
    ...threads.map((count) => llamaContestant(model, count)),
  ];
  const progress = new Progress(rounds * contestants.length);
  try {
    const work = { prompt: encodePrompt(await openCheckpoint(model), PROBLEM), tokens };
    const reference = alone ? 'flinch, no scores' : 'llama.cpp, 1 thread';
    const measurement = { work, rounds, reference, onTurn: () => progress.advance() };
    return formatPeersSpeed(name, await measurePeers(contestants, measurement), measurement);
  } finally {
    progress.stop();
  }
}
