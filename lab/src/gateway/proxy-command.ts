import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { median } from 'simple-statistics';
import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import { heading } from '#cli/format.js';
import { integer } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { type RunningServer, startFlinch, startPortkey, startScript } from './servers.js';
import { type Load, percentile, runStreams, type Target } from './stream-load.js';

interface Options {
  readonly rounds: number;
  readonly tokens: number;
  readonly interval: number;
  readonly streams: readonly number[];
  readonly portkey: boolean;
  readonly workers: number;
  readonly beside?: string;
  readonly output: string;
}

const FLINCH = 'flinch';
const BESIDE = 'flinch beside';

const unguarded = (name: string): string => `${name}, no guard`;

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

interface Result {
  readonly streams: number;
  readonly target: string;
  /** Medians over the rounds. */
  readonly p50: number;
  readonly p99: number;
  readonly addedP50: number;
  readonly addedP99: number;
  readonly cpuPerToken: number | null;
  readonly streamsPerSecond: number;
  readonly rounds: readonly Round[];
}

interface ProxyReport {
  readonly machine: Machine;
  readonly settings: Pick<Options, 'rounds' | 'tokens' | 'interval'>;
  readonly results: readonly Result[];
}

export function proxyCommand(): Command {
  return new Command('proxy')
    .description(
      'Measure the latency that a proxy adds per token: flinch without a scorer, with --workers, a plain pipe, Portkey.',
    )
    .option('--rounds <number>', 'rounds over all targets', integer(1, 1000), 5)
    .option('--tokens <number>', 'tokens per stream', integer(1, 100_000), 64)
    .option('--interval <ms>', 'time between two tokens of a stream', integer(1, 10_000), 100)
    .option('--streams <numbers>', 'concurrent streams, comma-separated', parseCounts, [1, 50, 500])
    .option('--workers <number>', 'also measure flinch with so many workers', integer(1, 256), 1)
    .option('--beside <folder>', 'also measure the built checkout of flinch in this folder')
    .option(
      '--no-portkey',
      'leave out @portkey-ai/gateway, which is otherwise installed from the registry if missing',
    )
    .option('--output <file>', 'write the results as JSON', 'bench-gateway.json')
    .addHelpText(
      'after',
      `
Examples:
  $ npm run lab -- gateway proxy --streams 1,50 --rounds 9
  $ npm run lab -- gateway proxy --beside ../flinch-before --no-portkey`,
    )
    .action(bench);
}

function parseCounts(text: string): number[] {
  return text.split(',').map(integer(1, 10_000));
}

async function bench({
  output,
  ...options
}: Omit<Options, 'output'> & Pick<Options, 'output'>): Promise<void> {
  const report = await withTemporaryFolder((folder) => compare(options, folder));
  await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
  say(`${format(report)}\n\nwritten to ${output}\n`);
}

async function compare(options: Omit<Options, 'output'>, folder: string): Promise<ProxyReport> {
  const servers: RunningServer[] = [];
  const keep = async (starting: Promise<RunningServer>): Promise<RunningServer> => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    const upstream = await keep(startScript('fast-upstream'));
    const targets: Proxied[] = [{ name: 'direct', url: upstream.url, model: 'bench', server: null }];
    const pipe = await keep(startScript('null-proxy', [upstream.url]));
    targets.push({ name: 'null proxy', url: pipe.url, model: 'bench', server: pipe });
    const config = ['--config', await configFile(upstream.url, folder)];
    const measureFlinch = async (name: string, args: string[], entry?: string): Promise<void> => {
      const server = await keep(startFlinch([...config, ...args], entry === undefined ? {} : { entry }));
      const target = { url: server.url, model: 'bench', server };
      targets.push({ ...target, name });
      targets.push({ ...target, name: unguarded(name), fields: { guard: { enabled: false } } });
    };
    await measureFlinch(FLINCH, []);
    if (options.beside !== undefined)
      await measureFlinch(BESIDE, [], resolve(options.beside, 'dist/cli/main.js'));
    if (options.workers > 1)
      await measureFlinch(`flinch, ${options.workers} workers`, ['--workers', String(options.workers)]);
    if (options.portkey) {
      const portkey = await keep(startPortkey(join(tmpdir(), 'flinch-bench-portkey')));
      const headers = {
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${upstream.url}/v1`,
        Authorization: 'Bearer none',
      };
      targets.push({ name: 'portkey', url: portkey.url, model: 'bench', headers, server: portkey });
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

async function measure(
  targets: readonly Proxied[],
  { rounds, tokens, interval, streams }: Omit<Options, 'output'>,
): Promise<ProxyReport> {
  const progress = new Progress(streams.length * (rounds + 1) * targets.length);
  const results: Result[] = [];
  try {
    for (const count of streams) {
      const taken = new Map<string, Round[]>(targets.map(({ name }) => [name, []]));
      // The first round warms up, and does not count.
      for (let round = 0; round <= rounds; round++) {
        for (const target of targets) {
          const measured = await runRound(target, { streams: count, tokens, interval });
          if (round > 0) taken.get(target.name)?.push(measured);
          progress.advance();
        }
      }
      results.push(...summary(count, taken));
    }
  } finally {
    progress.stop();
  }
  return { machine: thisMachine(), settings: { rounds, tokens, interval }, results };
}

/** Delays at the pace of a model, then how many streams there are in a second without one. */
async function runRound(target: Proxied, load: Load): Promise<Round> {
  const before = target.server?.cpuMs() ?? null;
  const paced = await runStreams(target, load);
  const after = target.server?.cpuMs() ?? null;
  const fast = await runStreams(target, { ...load, interval: 0 });
  return {
    p50: percentile(paced.delays, 0.5),
    p99: percentile(paced.delays, 0.99),
    cpuPerToken:
      before === null || after === null ? null : (1000 * (after - before)) / (load.streams * load.tokens),
    streamsPerSecond: load.streams / fast.seconds,
  };
}

function summary(streams: number, taken: ReadonlyMap<string, readonly Round[]>): Result[] {
  const direct = taken.get('direct') ?? [];
  const over = (rounds: readonly Round[], of: (round: Round) => number): number => median(rounds.map(of));
  return [...taken].map(([target, rounds]) => {
    const cpu = rounds.flatMap(({ cpuPerToken }) => cpuPerToken ?? []);
    const [p50, p99] = [over(rounds, (round) => round.p50), over(rounds, (round) => round.p99)];
    return {
      streams,
      target,
      p50,
      p99,
      addedP50: p50 - over(direct, (round) => round.p50),
      addedP99: p99 - over(direct, (round) => round.p99),
      cpuPerToken: cpu.length > 0 ? median(cpu) : null,
      streamsPerSecond: over(rounds, (round) => round.streamsPerSecond),
      rounds,
    };
  });
}

function format({ machine, settings, results }: ProxyReport): string {
  const ms = (value: number): string => value.toFixed(2);
  const header = [
    'streams',
    'through',
    'delay p50',
    'p99',
    'added p50',
    'added p99',
    'CPU µs/token',
    'streams/s',
  ];
  const rows = results.map((result) => [
    String(result.streams),
    result.target,
    ms(result.p50),
    ms(result.p99),
    ms(result.addedP50),
    ms(result.addedP99),
    result.cpuPerToken?.toFixed(0) ?? '',
    result.streamsPerSecond.toFixed(1),
  ]);
  return [
    heading(`Milliseconds from sending a token to its arrival; ${machine.cpu}, ${machine.cores} cores`),
    `One token every ${settings.interval} ms in every stream; ${settings.rounds} rounds, medians. The client and all servers share the cores; CPU time is of the server.`,
    '',
    table(header, rows),
    ...comparison(results),
  ].join('\n');
}

/** Ratios of this flinch to the one beside, round by round. */
function comparison(results: readonly Result[]): string[] {
  const rows = results.flatMap((result) => {
    const name = [BESIDE, unguarded(BESIDE)].indexOf(result.target);
    const own = [FLINCH, unguarded(FLINCH)][name];
    const { rounds } =
      results.find(({ streams, target }) => streams === result.streams && target === own) ?? {};
    if (!rounds || own === undefined) return [];
    const ratio = (of: (round: Round) => number | null): string => {
      const ratios = rounds.flatMap((round, i) => {
        const other = result.rounds[i];
        const [value, base] = [of(round), other ? of(other) : null];
        return value !== null && base ? value / base : [];
      });
      if (ratios.length === 0) return '';
      const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
      return `${middle.toFixed(2)} [${least.toFixed(2)}, ${most.toFixed(2)}]`;
    };
    return [[String(result.streams), own, ratio(({ cpuPerToken }) => cpuPerToken), ratio(({ p99 }) => p99)]];
  });
  if (rows.length === 0) return [];
  const caption = 'As a multiple of the flinch beside: median, lowest and highest of the rounds';
  return ['', caption, '', table(['streams', 'through', 'CPU per token', 'p99'], rows)];
}
