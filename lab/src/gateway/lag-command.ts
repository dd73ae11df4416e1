import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { median, sum } from 'simple-statistics';
import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import { heading } from '#cli/format.js';
import { integer } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { reasonerPath as EMBEDDED_MODEL } from '#src/package-root.js';
import { DEFAULT_METHODS } from '#src/uncertainty/method-names.js';
import { readAnswer } from '../read-answer.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { type LagStream, readLagStream } from './lag-stream.js';
import { type RunningServer, startFlinch, startScript } from './servers.js';

interface Options {
  readonly rounds: number;
  readonly streams: number;
  readonly tokens: number;
  readonly slower: number;
}

/** Tokens of a stream that measures the speed of the scorer. */
const PROBE_TOKENS = 32;

const ARMS = ['guard off', 'skip', 'wait'] as const;
type Arm = (typeof ARMS)[number];

interface Result {
  readonly arm: Arm;
  /**
   * Speed of one stream, and its ratio to the arm without a guard in the same round. Medians over the rounds.
   */
  readonly tokensPerSecond: number;
  readonly ratio: number;
  /** Time from the last text of a stream to its end, in milliseconds. */
  readonly tailMs: number;
  /** Tokens over all rounds. */
  readonly scored: number;
  readonly passedOver: number;
  readonly unaccounted: number;
  /** Unscored tokens according to the steps of the same streams. */
  readonly unscored: number;
}

interface LagReport {
  readonly machine: Machine;
  readonly settings: Options;
  /** Tokens that are scored in a second, of all streams, before the rounds and after them. */
  readonly scoredPerSecond: readonly [number, number];
  /** Milliseconds between two tokens of a stream: the upstream writes `slower` times what is scored. */
  readonly interval: number;
  readonly results: readonly Result[];
  /** Value of the gateway's metric `flinch_lag_skipped_tokens_total`. */
  readonly counted: number;
}

export function lagCommand(): Command {
  return new Command('lag')
    .description('Measure what a scorer that is too slow costs the client, with `guard.lag` skip and wait.')
    .option('--rounds <number>', 'rounds over all settings', integer(1, 1000), 5)
    .option('--streams <number>', 'concurrent streams', integer(1, 64), 2)
    .option('--tokens <number>', 'tokens per stream', integer(32, 400), 200)
    .option('--slower <number>', 'how much faster the upstream writes than it is scored', integer(1, 100), 10)
    .option('--output <file>', 'write the results as JSON', 'bench-lag.json')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- gateway lag --streams 8 --slower 20')
    .action(async ({ output, ...options }: Options & { readonly output: string }) => {
      const report = await withTemporaryFolder((folder) => measure(options, folder));
      await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
      say(`${format(report)}\n\nwritten to ${output}\n`);
    });
}

async function measure(options: Options, folder: string): Promise<LagReport> {
  const { rounds, streams, slower } = options;
  const methods = [...DEFAULT_METHODS, 'random'];
  const guards: Readonly<Record<Arm, object>> = {
    'guard off': { enabled: false },
    skip: { methods, lag: 'skip' },
    wait: { methods, lag: 'wait' },
  };
  const agent = new Agent({ keepAlive: true });
  const servers: RunningServer[] = [];
  const progress = new Progress(2 * rounds + 1);
  try {
    const upstream = await startScript('fast-upstream');
    servers.push(upstream);
    const gateway = await startFlinch(['--config', await configFile(upstream.url, folder)]);
    servers.push(gateway);
    const run = (arm: Arm, interval: number, tokens = options.tokens): Promise<LagStream[]> =>
      runStreams(streams, interval, () =>
        readLagStream({ url: gateway.url, agent, tokens, interval, guard: guards[arm] }),
      );
    const scoredPerSecond = async (): Promise<number> => {
      const start = performance.now();
      const all = await run('wait', 0, PROBE_TOKENS);
      return (1000 * sum(all.map(({ tokens }) => tokens.scored))) / (performance.now() - start);
    };
    await scoredPerSecond(); // graphs are built
    const before = await scoredPerSecond();
    const interval = Math.max(1, Math.round((1000 * streams) / (slower * before)));
    const taken: Readonly<Record<Arm, LagStream[][]>> = { 'guard off': [], skip: [], wait: [] };
    for (let round = 0; round < rounds; round++) {
      for (const arm of ARMS) {
        if (arm === 'wait' && round > 0) continue; // takes `slower` times as long as the others
        taken[arm].push(await run(arm, interval));
        progress.advance();
      }
    }
    const after = await scoredPerSecond();
    return {
      machine: thisMachine(),
      settings: options,
      scoredPerSecond: [before, after],
      interval,
      results: ARMS.map((arm) => resultOf(arm, taken)),
      counted: await countedBy(gateway.url),
    };
  } finally {
    progress.stop();
    agent.destroy();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Runs streams in parallel; at a pace, they do not start at the same moment. */
function runStreams(streams: number, interval: number, read: () => Promise<LagStream>): Promise<LagStream[]> {
  const one = async (_: unknown, i: number): Promise<LagStream> => {
    await setTimeout((i * interval) / streams);
    return read();
  };
  return Promise.all(Array.from({ length: streams }, one));
}

async function configFile(upstream: string, folder: string): Promise<string> {
  const many = 1_000_000;
  const model = { upstreams: [{ url: `${upstream}/v1` }], scorer: EMBEDDED_MODEL, max_streams: 1024 };
  const config = {
    models: { bench: model },
    access: { generations: many, requests_per_minute: many },
    limits: { connections: many },
  };
  const file = join(folder, 'flinch.json');
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function countedBy(url: string): Promise<number> {
  const text = await readAnswer(await fetch(`${url}/metrics`));
  return Number(/^flinch_lag_skipped_tokens_total\{[^}]*\} (\d+)/m.exec(text)?.[1]);
}

const speed = (streams: readonly LagStream[]): number =>
  median(streams.map(({ characters, writingMs }) => (1000 * (characters - 1)) / writingMs));

function resultOf(arm: Arm, taken: Readonly<Record<Arm, readonly LagStream[][]>>): Result {
  const rounds = taken[arm];
  const all = rounds.flat();
  const total = (of: (stream: LagStream) => number): number => sum(all.map(of));
  return {
    arm,
    tokensPerSecond: median(rounds.map(speed)),
    ratio: median(rounds.map((round, i) => speed(round) / speed(taken['guard off'][i] ?? []))),
    tailMs: median(all.map(({ tailMs }) => tailMs)),
    scored: total(({ tokens }) => tokens.scored),
    passedOver: total(({ tokens }) => tokens.passedOver),
    unaccounted: total(({ tokens }) => tokens.unaccounted),
    unscored: total(({ unscored }) => unscored),
  };
}

function format({ machine, settings, scoredPerSecond, interval, results, counted }: LagReport): string {
  const { rounds, streams, tokens } = settings;
  const [before, after] = scoredPerSecond.map((value) => value.toFixed(0));
  const header = ['lag', 'tokens/s', '× guard off', 'end, ms', 'scored', 'passed over', 'unaccounted'];
  const rows = results.map((result) => [
    result.arm,
    result.tokensPerSecond.toFixed(1),
    result.ratio.toFixed(3),
    result.tailMs.toFixed(0),
    ...[result.scored, result.passedOver, result.arm === 'guard off' ? 0 : result.unaccounted].map(String),
  ]);
  const skip = results.find(({ arm }) => arm === 'skip');
  return [
    heading(`Tokens per second of one of ${streams} streams; ${machine.cpu}, ${machine.cores} cores`),
    `${tokens} tokens per stream, one every ${interval} ms: ${((1000 * streams) / interval).toFixed(0)} tokens/s in all, of which ${before} (before) and ${after} (after) can be scored; ${rounds} rounds (wait: one), medians`,
    '',
    table(header, rows),
    '',
    `passed over under skip: ${skip?.passedOver} at the client, ${skip?.unscored} in its steps, ${counted} in the metric`,
  ].join('\n');
}
