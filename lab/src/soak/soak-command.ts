import { rename, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { Command } from 'commander';
import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import { processMemory } from '#bench/process-memory.js';
import { formatBytes, heading } from '#cli/format.js';
import { integer, modelOption, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { type Growth, growthOf, type MemorySample, PROCESSES, type ProcessName } from './growth.js';
import { type LoadCounts, runLoad } from './load.js';

interface Options {
  readonly model: string;
  readonly minutes: number;
  readonly warmUp: number;
  readonly users: number;
  readonly seed: number;
  readonly every: number;
  readonly output: string;
}

interface SoakReport {
  readonly machine: Machine;
  readonly settings: Omit<Options, 'output'>;
  readonly counts: LoadCounts;
  /** Processes that had to be started again: 0, or something is wrong. */
  readonly restarts: number;
  readonly growth: Readonly<Record<ProcessName, Growth | null>>;
  readonly samples: readonly MemorySample[];
}

export function soakCommand(): Command {
  return new Command('soak')
    .description(
      'Check for memory growth under a long mixed load. Ctrl-C ends it early and prints the report.',
    )
    .addOption(modelOption())
    .option('--minutes <number>', 'duration', real(0.01, 10_000), 30)
    .option(
      '--warm-up <minutes>',
      'warm-up time, excluded from the results; at most half of the duration',
      real(0, 10_000),
      5,
    )
    .option('--users <number>', 'concurrent users with one request each', integer(1, 16), 6)
    .option('--seed <number>', 'seed of the requests', integer(0, 2 ** 31), 1)
    .option('--every <seconds>', 'interval between samples', real(0.1, 3600), 10)
    .option('--output <file>', 'write the results as JSON, updated at each sample', 'bench-soak.json')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- soak --minutes 30')
    .action(soak);
}

async function soak({ output, model, ...others }: Options): Promise<void> {
  const { minutes, warmUp, users, seed, every } = others;
  const settings = { model: basename(model), ...others };
  const engine = await Engine.open(model);
  const progress = new Progress(Math.floor((60 * minutes) / every));
  const end = new AbortController();
  const stop = (): void => end.abort();
  let timer: NodeJS.Timeout | undefined;
  process.once('SIGINT', stop);
  const counts: LoadCounts = { finished: 0, cancelled: 0, rescored: 0, tokens: 0, scores: 0 };
  const samples: MemorySample[] = [];
  const machine = thisMachine();
  const report = (): SoakReport => {
    const from = 60 * Math.min(warmUp, minutes / 2);
    const { decode, score } = engine.status();
    return {
      machine,
      settings,
      counts,
      restarts: decode.restarts + score.restarts,
      growth: {
        decode: growthOf(samples, 'decode', from),
        score: growthOf(samples, 'score', from),
        parent: growthOf(samples, 'parent', from),
      },
      samples,
    };
  };
  try {
    await engine.start();
    const start = performance.now();
    timer = setTimeout(stop, 60_000 * minutes);
    const watch = async (): Promise<void> => {
      for await (const _ of untilAborted(1000 * every, end.signal)) {
        samples.push(await sample(engine, (performance.now() - start) / 1000));
        await writeWhole(output, report());
        progress.advance();
      }
    };
    const load = runLoad(engine, { users, seed, signal: end.signal }, counts).finally(stop);
    await Promise.all([load, watch()]);
    say(`${format(report(), (performance.now() - start) / 60_000)}\n\nwritten to ${output}\n`);
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', stop);
    progress.stop();
    await engine.close();
  }
}

async function* untilAborted(milliseconds: number, signal: AbortSignal): AsyncGenerator<void> {
  try {
    yield* setInterval(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function sample(engine: Engine, seconds: number): Promise<MemorySample> {
  const { decode, score } = engine.status();
  const of = async (pid: number | undefined): Promise<number | null> =>
    pid === undefined ? null : ((await processMemory(pid))?.private ?? null);
  return {
    seconds,
    decode: await of(decode.pid),
    score: await of(score.pid),
    parent: await of(process.pid),
  };
}

/** A run that is killed leaves the last whole report, never half of one. */
async function writeWhole(file: string, report: SoakReport): Promise<void> {
  await writeFile(`${file}.part`, `${JSON.stringify(report, null, 2)}\n`);
  await rename(`${file}.part`, file);
}

function format({ counts, restarts, growth, settings }: SoakReport, minutes: number): string {
  const bytes = (value: number): string => (value < 0 ? `−${formatBytes(-value)}` : formatBytes(value));
  const rows = PROCESSES.map((name) => {
    const grown = growth[name];
    if (!grown) return [name, 'n/a', 'n/a', 'n/a', 'n/a'];
    const { before, after, bytesPerHour } = grown;
    return [name, bytes(before), bytes(after), bytes(after - before), `${bytes(bytesPerHour)} an hour`];
  });
  return [
    heading(`${minutes.toFixed(1)} minutes, ${settings.users} users`),
    `${counts.finished} streams finished, ${counts.cancelled} cancelled, ${counts.rescored} texts scored offline; ${counts.tokens} tokens, ${counts.scores} scores; ${restarts} restarts`,
    '',
    heading('Private memory, after the warm-up and at the end (medians of a minute)'),
    '',
    table(['', 'after warm-up', 'end', 'growth', 'slope'], rows),
  ].join('\n');
}
