import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { thisMachine } from '#bench/markdown-table.js';
import { integer, precisionOption } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import type { Checkpoint } from '#src/checkpoint/checkpoint.js';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { Engine } from '#src/engine/engine.js';
import type { Precision } from '#src/engine/precision.js';
import type { ModelSource } from '#src/graphs/decoder.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { type CheckpointReport, formatCheckpointReport } from './checkpoint-report.js';
import { measureConversation, measureWriting } from './conversation.js';
import { measureDecode } from './decode.js';
import { measureConcurrency, measureMemory, measureWindowed } from './growth.js';
import { profilePass } from './profile.js';
import { SHAPES, writeRandomCheckpoint, writeRandomWeights } from './random-checkpoint.js';
import { measureScorePasses, PASS_SIZES } from './score-passes.js';

const GENERATED = {
  '135m-fp32': { shape: SHAPES['135m'], type: 'fp32' },
  '135m-bf16': { shape: SHAPES['135m'], type: 'bf16' },
  'small-fp32': { shape: SHAPES.small, type: 'fp32' },
  'small-bf16': { shape: SHAPES.small, type: 'bf16' },
} as const;
const NAMES = Object.keys(GENERATED).filter((name): name is keyof typeof GENERATED => name in GENERATED);

const SECTIONS = ['memory', 'decode', 'passes', 'lengths', 'conversation', 'streams'] as const;
type Section = (typeof SECTIONS)[number] | 'profile';

interface Options {
  readonly model?: string;
  readonly sections: readonly Section[];
  readonly profile?: boolean;
  readonly precision: Precision;
  readonly threads: number;
  readonly rounds: number;
  readonly output: string;
}

const DECODED_TOKENS = 64;
const STREAM_TOKENS = 64;
/** Tokens of each of several streams: sixteen of them take minutes. */
const CONCURRENT_TOKENS = 24;
const STREAM_COUNTS = [1, 4, 16];
const TEXT_LENGTHS = [64, 128, 256, 512, 1024, 2048];
const LONG_PASS = 512;
const LONG_PROMPT = 2000;
/** Positions for the tokens that are written after the longest text, and the next turn of a conversation. */
const ROOM = 64;
const PROFILED_PASTS = [0, 2000];

export function checkpointCommand(): Command {
  return new Command('checkpoint')
    .description('Measure speed and memory of a realistically sized model, by default with random weights.')
    .addArgument(new Argument('[name]', 'size and type of the weights').choices(NAMES).default('135m-fp32'))
    .option('--model <folder>', 'existing checkpoint in the Hugging Face layout')
    .addOption(
      new Option('--sections <names>', `sections to run, among ${SECTIONS.join(',')}`)
        .argParser(parseSections)
        .default([...SECTIONS], 'all'),
    )
    .addOption(precisionOption())
    .option('--profile', 'only profile score passes, by operator type')
    .addOption(
      new Option('--threads <number>', 'threads of each engine process')
        .argParser(integer(1, 1024))
        .default(availableParallelism(), 'all cores'),
    )
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(1, 1000), 5)
    .option('--output <file>', 'write the results as JSON', 'bench-checkpoint.json')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npm run lab -- checkpoint 135m-bf16\n  $ npm run lab -- checkpoint --precision int8 --sections lengths,conversation',
    )
    .action(bench);
}

function parseSections(text: string): Section[] {
  return text.split(',').map((name) => {
    const section = SECTIONS.find((known) => known === name.trim());
    if (!section) throw new InvalidArgumentError(`"${name}" is not one of ${SECTIONS.join(', ')}.`);
    return section;
  });
}

async function bench(name: keyof typeof GENERATED, options: Options): Promise<void> {
  const report = await withTemporaryFolder(async (temporary) => {
    const folder = options.model ?? join(temporary, name);
    if (options.model === undefined) {
      const { shape, type } = GENERATED[name];
      await mkdir(folder);
      await writeRandomCheckpoint(folder, shape, { type, seed: 1 });
    }
    return measure(folder, temporary, options);
  });
  await writeFile(options.output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${formatCheckpointReport(report)}\n\nwritten to ${options.output}\n`);
}

async function measure(folder: string, temporary: string, options: Options): Promise<CheckpointReport> {
  const { precision, threads, rounds } = options;
  const sections = new Set<Section>(options.profile ? ['profile'] : options.sections);
  const engine = await Engine.open(folder, { precision, threads });
  const { checkpoint, contextLength } = engine;
  const sizes = PASS_SIZES.filter(({ past, window }) => past + window < contextLength);
  const lengths = TEXT_LENGTHS.filter((length) => length + ROOM <= contextLength);
  const steps: Readonly<Record<Section, number>> = {
    memory: 2,
    decode: rounds + 1,
    passes: sizes.length * (rounds + 1),
    lengths: 2 * (rounds + 1),
    conversation: rounds + 1,
    streams: 2,
    profile: PROFILED_PASTS.length,
  };
  const progress = new Progress([...sections].reduce((sum, name) => sum + steps[name], 0));
  const advance = (): void => progress.advance();
  const section = async <T>(name: Section, work: () => Promise<T>): Promise<T | undefined> =>
    sections.has(name) ? work() : undefined;
  try {
    // First of all: later, the engine's processes would not be fresh.
    const memory = await section('memory', () =>
      measureMemory(engine, STREAM_TOKENS, Math.min(LONG_PASS, contextLength - 1), advance),
    );
    const needsReference = sections.has('decode') || sections.has('passes');
    const reference = needsReference ? await fp32Weights(checkpoint, temporary) : checkpoint;
    const decode = await section('decode', () =>
      measureDecode(engine, reference, { threads, rounds, tokens: DECODED_TOKENS }, advance),
    );
    const passes = await section('passes', () =>
      measureScorePasses(engine, reference, sizes, { threads, rounds }, advance),
    );
    const costs = await section('lengths', async () => ({
      windowed: await measureWindowed(engine, lengths, rounds, advance),
      writing: await measureWriting(engine, lengths, rounds, advance),
    }));
    const prompt = Math.min(LONG_PROMPT, contextLength - ROOM);
    const conversation = await section('conversation', () =>
      measureConversation(engine, prompt, rounds, advance),
    );
    const counts = await section('streams', () =>
      measureConcurrency(engine, STREAM_COUNTS, CONCURRENT_TOKENS, 1, advance),
    );
    const profiles = await section('profile', () => profiled(checkpoint, temporary, threads, advance));
    return {
      model: checkpoint.name,
      weightBytes: checkpoint.weightBytes,
      machine: thisMachine(),
      precision,
      threads,
      rounds,
      memory,
      decode,
      passes,
      lengths: costs,
      conversation,
      streams: counts && { tokens: CONCURRENT_TOKENS, counts },
      profiles,
    };
  } finally {
    progress.stop();
    await engine.close();
  }
}

async function profiled(checkpoint: Checkpoint, folder: string, threads: number, advance: () => void) {
  const profiles = [];
  for (const past of PROFILED_PASTS) {
    profiles.push(await profilePass(checkpoint, { window: 64, past, scored: 8 }, { threads, folder }));
    advance();
  }
  return profiles;
}

/** Weights of the same shapes as fp32: the checkpoint's own if they are, else random ones. */
async function fp32Weights(checkpoint: Checkpoint, temporary: string): Promise<ModelSource> {
  const { config, tensors } = checkpoint;
  if ([...tensors.values()].every(({ type }) => type === 'fp32')) return checkpoint;
  const folder = join(temporary, 'reference');
  await mkdir(folder);
  await writeRandomWeights(folder, expectedTensors(config), { type: 'fp32', seed: 2 });
  return { config, tensors: await readSafetensors(folder) };
}
