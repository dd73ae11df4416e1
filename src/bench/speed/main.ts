#!/usr/bin/env node
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Command } from 'commander';
import { EMBEDDED_MODEL, integer, modelOption } from '../../cli/options.js';
import { Progress } from '../../cli/progress.js';
import { reportError } from '../../cli/report.js';
import { Engine } from '../../engine/engine.js';
import { predictMemory } from '../../model/memory.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW } from '../../uncertainty/settings.js';
import { measurePasses } from './passes.js';
import { mappedFile, processMemory } from './process-memory.js';
import { formatReport, type SpeedReport } from './report.js';
import { measureLengths, measureStreams } from './streams.js';

interface Options {
  readonly model: string;
  readonly output: string;
  readonly rounds: number;
}

const PASS_LENGTHS = [64, 128, 256, 512];
const RESPONSE_LENGTHS = [64, 128, 256, 512];
const STREAM_TOKENS = 256;
/** Longest response, and room for its prompt. */
const CONTEXT = 1024;

await new Command('npm run bench --')
  .description('Measures speed and memory of generation and scoring, side by side in one run.')
  .addOption(modelOption())
  .option('--output <file>', 'where the JSON goes', 'bench.json')
  .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(3, 1000), 15)
  .addHelpText('after', '\nExample:\n  $ npm run bench -- --rounds 30 --output results.json')
  .action(bench)
  .parseAsync()
  .catch((error: unknown) => {
    reportError(error);
    process.exitCode = 1;
  });

async function bench({ model, output, rounds }: Options): Promise<void> {
  const folder = await withLongContext(resolve(model));
  const progress = new Progress(2 + RESPONSE_LENGTHS.length);
  try {
    const report = await measure(folder, rounds, () => progress.advance());
    progress.stop();
    await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
    process.stdout.write(`${formatReport(report)}\nwritten to ${output}\n`);
  } finally {
    progress.stop();
    await rm(resolve(folder, '..'), { recursive: true, force: true });
  }
}

async function measure(folder: string, rounds: number, advance: () => void): Promise<SpeedReport> {
  const engine = await Engine.open(folder, { contextLength: CONTEXT });
  try {
    await engine.start();
    const { checkpoint } = engine;
    const atRest = await memoryOf(engine);
    const streams = await measureStreams(engine, STREAM_TOKENS, rounds);
    advance();
    const afterStreams = await memoryOf(engine);
    const lengths = await measureLengths(engine, RESPONSE_LENGTHS, rounds, advance);
    const afterOffline = await memoryOf(engine);
    const passes = await measurePasses(checkpoint, PASS_LENGTHS, { threads: 1, rounds });
    advance();
    return {
      model: checkpoint.name,
      weightBytes: checkpoint.weightBytes,
      machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version },
      rounds,
      streamTokens: STREAM_TOKENS,
      streams,
      passes,
      lengths,
      memory: { atRest, afterStreams, afterOffline },
      predicted: predictMemory(checkpoint.config, {
        length: 512 + 32,
        window: DEFAULT_WINDOW,
        block: DEFAULT_BLOCK,
      }),
    };
  } finally {
    await engine.close();
  }
}

async function memoryOf(engine: Engine): Promise<SpeedReport['memory']['atRest']> {
  const { decode, score } = engine.status();
  const [weights] = [...engine.checkpoint.tensors.values()].map(({ file }) => file);
  const of = async (pid: number | undefined) =>
    pid === undefined
      ? null
      : {
          process: await processMemory(pid),
          weights: weights === undefined ? null : await mappedFile(pid, weights),
        };
  return { decode: await of(decode.pid), score: await of(score.pid) };
}

/**
 * The same checkpoint with room for the longest response: its weights linked, its config.json saying so. What the
 * model writes beyond its training does not matter here, what it costs does.
 */
async function withLongContext(folder: string): Promise<string> {
  const copy = join(
    await mkdtemp(join(tmpdir(), 'flinch-bench-')),
    basename(folder === EMBEDDED_MODEL ? 'reasoner' : folder),
  );
  await cp(folder, copy, { recursive: true, filter: (file) => !file.endsWith('.safetensors') });
  for (const file of await readdir(folder)) {
    if (file.endsWith('.safetensors')) await symlink(join(folder, file), join(copy, file));
  }
  const path = join(copy, 'config.json');
  const config: unknown = JSON.parse(await readFile(path, 'utf8'));
  const longer =
    typeof config === 'object' && config !== null ? { ...config, max_position_embeddings: CONTEXT } : config;
  await writeFile(path, JSON.stringify(longer));
  return copy;
}
