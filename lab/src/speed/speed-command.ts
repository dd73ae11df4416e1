import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Command } from 'commander';
import { thisMachine } from '#bench/markdown-table.js';
import { integer, modelOption } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { scoreMemory } from '#src/engine/memory.js';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW } from '#src/uncertainty/settings.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { enginesMemory } from './engines-memory.js';
import { measurePasses } from './passes.js';
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

export function speedCommand(): Command {
  return new Command('speed')
    .description('Measure speed and memory of generation and scoring in one run.')
    .addOption(modelOption())
    .option('--output <file>', 'write the results as JSON', 'bench.json')
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(3, 1000), 15)
    .addHelpText('after', '\nExample:\n  $ npm run lab -- speed --rounds 30 --output results.json')
    .action(bench);
}

async function bench({ model, output, rounds }: Options): Promise<void> {
  const report = await withTemporaryFolder(async (temporary) => {
    const folder = await withLongContext(resolve(model), temporary);
    const progress = new Progress(2 + RESPONSE_LENGTHS.length);
    try {
      return await measure(folder, rounds, () => progress.advance());
    } finally {
      progress.stop();
    }
  });
  await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${formatReport(report)}\nwritten to ${output}\n`);
}

async function measure(folder: string, rounds: number, advance: () => void): Promise<SpeedReport> {
  const engine = await Engine.open(folder, { contextLength: CONTEXT });
  try {
    await engine.start();
    const { checkpoint } = engine;
    const atRest = await enginesMemory(engine);
    const streams = await measureStreams(engine, STREAM_TOKENS, rounds);
    advance();
    const afterStreams = await enginesMemory(engine);
    const lengths = await measureLengths(engine, RESPONSE_LENGTHS, rounds, advance);
    const afterOffline = await enginesMemory(engine);
    const passes = await measurePasses(checkpoint, PASS_LENGTHS, { threads: 1, rounds });
    advance();
    const positions = 512 + 32;
    return {
      model: checkpoint.name,
      weightBytes: checkpoint.weightBytes,
      machine: thisMachine(),
      rounds,
      streamTokens: STREAM_TOKENS,
      streams,
      passes,
      lengths,
      memory: { atRest, afterStreams, afterOffline },
      predicted: {
        windowed: scoreMemory(engine.machine('score'), {
          positions,
          window: DEFAULT_WINDOW,
          scored: DEFAULT_BLOCK,
          replicas: 0,
        }),
        offline: scoreMemory(engine.machine('score'), {
          positions,
          window: positions,
          scored: positions,
          replicas: 0,
        }),
      },
    };
  } finally {
    await engine.close();
  }
}

/**
 * The same checkpoint with room for the longest response: its weights linked, its config.json saying so. What the
 * model writes beyond its training does not matter here, what it costs does.
 */
async function withLongContext(folder: string, temporary: string): Promise<string> {
  const copy = join(temporary, basename(folder === EMBEDDED_MODEL ? 'reasoner' : folder));
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
