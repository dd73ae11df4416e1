import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { median } from 'simple-statistics';
import { table, thisMachine } from '#bench/markdown-table.js';
import { integer } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { heading } from '#cli/terminal-format.js';
import { type RunningServer, startFlinch, startPortkey, startScript } from './servers.js';
import { percentile, runStreams, type Target } from './stream-load.js';

interface Options {
  readonly rounds: number;
  readonly tokens: number;
  readonly interval: number;
  readonly streams: readonly number[];
  readonly portkey: boolean;
}

/** Target of streams: nothing, or a server of its own process. */
interface Proxied extends Target {
  readonly server: RunningServer | null;
}

/** One round of one target: milliseconds, and streams in a second. */
interface Round {
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of the server's CPU time. */
  readonly cpuPerToken: number | null;
  readonly streamsPerSecond: number;
}

/** `npm run lab -- gateway` */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description(
      'Measure the latency that a proxy adds per token: flinch without a scorer, a plain pipe, Portkey.',
    )
    .option('--rounds <number>', 'rounds over all targets', integer(1, 1000), 5)
    .option('--tokens <number>', 'tokens per stream', integer(1, 100_000), 64)
    .option('--interval <ms>', 'time between two tokens of a stream', integer(1, 10_000), 100)
    .option(
      '--streams <numbers>',
      'concurrent streams, comma-separated',
      (text: string) => text.split(',').map(integer(1, 10_000)),
      [1, 50, 500],
    )
    .option(
      '--no-portkey',
      'leave out @portkey-ai/gateway, which is otherwise installed from the registry if missing',
    )
    .addHelpText('after', '\nExample:\n  $ npm run lab -- gateway --streams 1,50 --rounds 9')
    .action(async (options: Options) => {
      const folder = await mkdtemp(join(tmpdir(), 'flinch-lab-'));
      try {
        say(`${format(await compare(options, folder), options)}\n`);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
}

async function compare(options: Options, folder: string): Promise<string[][]> {
  const servers: RunningServer[] = [];
  const keep = async (starting: Promise<RunningServer>): Promise<RunningServer> => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    const upstream = await keep(startScript('fast-upstream'));
    const pipe = await keep(startScript('null-proxy', [upstream.url]));
    const flinch = await keep(startFlinch(['--config', await configFile(upstream.url, folder)]));
    const targets: Proxied[] = [
      { name: 'direct', url: upstream.url, server: null },
      { name: 'null proxy', url: pipe.url, server: pipe },
      { name: 'flinch', url: flinch.url, server: flinch },
      { name: 'flinch, no guard', url: flinch.url, server: flinch, fields: { guard: { enabled: false } } },
    ];
    if (options.portkey) {
      const server = await keep(startPortkey(join(tmpdir(), 'flinch-bench-portkey')));
      const headers = {
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${upstream.url}/v1`,
        Authorization: 'Bearer none',
      };
      targets.push({ name: 'Portkey', url: server.url, headers, server });
    }
    return await measure(targets, options);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Configuration of a gateway that limits none of what is measured. */
async function configFile(upstream: string, folder: string): Promise<string> {
  const many = 1_000_000;
  const config = {
    models: { bench: { upstreams: [{ url: `${upstream}/v1` }], max_streams: 4096 } },
    access: { generations: many, requests_per_minute: many },
    limits: { connections: many },
  };
  const file = join(folder, 'flinch.json');
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function measure(targets: readonly Proxied[], options: Options): Promise<string[][]> {
  const { rounds, streams } = options;
  const progress = new Progress(streams.length * (rounds + 1) * targets.length);
  const rows: string[][] = [];
  try {
    for (const count of streams) {
      const taken = targets.map((): Round[] => []);
      // The first round warms up, and does not count.
      for (let round = 0; round <= rounds; round++) {
        for (const [i, target] of targets.entries()) {
          const measured = await runRound(target, count, options);
          if (round > 0) taken[i]!.push(measured);
          progress.advance();
        }
      }
      rows.push(...targets.map(({ name }, i) => rowOf(count, name, taken[i]!, taken[0]!)));
    }
  } finally {
    progress.stop();
  }
  return rows;
}

/** Delays at the pace of a model, then how many streams there are in a second without one. */
async function runRound(target: Proxied, streams: number, { tokens, interval }: Options): Promise<Round> {
  const before = target.server?.cpuMs() ?? null;
  const paced = await runStreams(target, { streams, tokens, interval });
  const after = target.server?.cpuMs() ?? null;
  const fast = await runStreams(target, { streams, tokens, interval: 0 });
  return {
    p50: percentile(paced.delays, 0.5),
    p99: percentile(paced.delays, 0.99),
    cpuPerToken: before === null || after === null ? null : (1000 * (after - before)) / (streams * tokens),
    streamsPerSecond: streams / fast.seconds,
  };
}

/** Medians over the rounds. */
function rowOf(streams: number, name: string, rounds: readonly Round[], direct: readonly Round[]): string[] {
  const p99 = median(rounds.map((round) => round.p99));
  const cpu = rounds.flatMap(({ cpuPerToken }) => cpuPerToken ?? []);
  return [
    String(streams),
    name,
    median(rounds.map(({ p50 }) => p50)).toFixed(2),
    p99.toFixed(2),
    (p99 - median(direct.map((round) => round.p99))).toFixed(2),
    cpu.length > 0 ? median(cpu).toFixed(0) : '',
    median(rounds.map(({ streamsPerSecond }) => streamsPerSecond)).toFixed(1),
  ];
}

function format(rows: readonly string[][], { interval, rounds }: Options): string {
  const { cpu, cores } = thisMachine();
  const header = ['streams', 'through', 'delay p50', 'p99', 'added p99', 'CPU µs/token', 'streams/s'];
  return [
    heading(`Milliseconds from sending a token to its arrival; ${cpu}, ${cores} cores`),
    `One token every ${interval} ms in every stream; ${rounds} rounds, medians. The client and all servers share the cores; CPU time is of the server.`,
    '',
    table(header, rows),
  ].join('\n');
}
