import { once, setMaxListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Command } from 'commander';
import { readEvent, SUBPROTOCOL } from 'flinch-client/protocol';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { type Machine, table, thisMachine } from '#bench/markdown-table.js';
import { formatBytes, heading } from '#cli/format.js';
import { integer, modelOption, real } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { readAnswer } from '../read-answer.js';
import { type Growth, growth } from '../soak/growth.js';
import { type RunningServer, startFlinch } from './servers.js';

interface Options {
  readonly model: string;
  readonly streams: number;
  readonly minutes: number;
  readonly warmUp: number;
  readonly every: number;
  readonly output: string;
}

const probed = z.object({
  loop: z.object({ p50: z.number(), p99: z.number(), max: z.number() }),
  memory: z.object({ heapUsed: z.number(), external: z.number(), rss: z.number() }),
});

interface Sample extends z.output<typeof probed> {
  readonly seconds: number;
}

interface Counts {
  finished: number;
  events: number;
}

interface SoakReport {
  readonly machine: Machine;
  readonly settings: Omit<Options, 'model' | 'output'>;
  readonly counts: Counts;
  /** Growth of the gateway's own heap and buffers, after a collection. */
  readonly memory: Growth | null;
  /** The worst of the samples after the warm-up, milliseconds. */
  readonly loop: { readonly p99: number; readonly max: number };
  readonly samples: readonly Sample[];
}

const PER_CONNECTION = 8;

export function soakCommand(): Command {
  return new Command('soak')
    .description('Run many concurrent WebSocket streams: event loop delay, memory after garbage collection.')
    .addOption(modelOption())
    .option('--streams <number>', 'concurrent streams; each is followed by the next', integer(1, 1000), 100)
    .option('--minutes <number>', 'duration', real(0.05, 10_000), 10)
    .option('--warm-up <minutes>', 'warm-up time, excluded from the results', real(0, 10_000), 2)
    .option('--every <seconds>', 'interval between samples', real(0.5, 3600), 5)
    .option('--output <file>', 'write the results as JSON', 'bench-gateway-soak.json')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npm run lab -- gateway soak\n  $ npm run lab -- gateway soak --streams 20 --minutes 0.6 --warm-up 0.1',
    )
    .action(soak);
}

async function soak({ model, output, ...settings }: Options): Promise<void> {
  const { streams, minutes, every } = settings;
  const server = await startFlinch(['--model', model, '--max-streams', String(streams)], {
    env: { FLINCH_ACCESS_GENERATIONS: String(streams), FLINCH_ACCESS_REQUESTS_PER_MINUTE: '1000000' },
    probe: true,
  });
  const progress = new Progress(Math.floor((60 * minutes) / every));
  const end = new AbortController();
  setMaxListeners(Number.POSITIVE_INFINITY, end.signal);
  const counts: Counts = { finished: 0, events: 0 };
  const samples: Sample[] = [];
  try {
    const start = performance.now();
    const sockets = Math.ceil(streams / PER_CONNECTION);
    const loads = Array.from({ length: sockets }, (_, i) =>
      load(server.url, Math.min(PER_CONNECTION, streams - i * PER_CONNECTION), counts, end.signal),
    );
    const watch = async (): Promise<void> => {
      while (performance.now() - start < 60_000 * minutes) {
        await setTimeout(1000 * every);
        samples.push({ seconds: (performance.now() - start) / 1000, ...(await probe(server)) });
        progress.advance();
      }
      end.abort();
    };
    await Promise.all([watch(), ...loads]);
    const report = reportOf(settings, counts, samples);
    await writeFile(output, `${JSON.stringify(report, null, 2)}\n`);
    say(`${format(report)}\n\nwritten to ${output}\n`);
  } finally {
    progress.stop();
    await server.stop();
  }
}

async function probe({ child }: RunningServer): Promise<z.output<typeof probed>> {
  const answered = once(child, 'message');
  child.send('probe');
  return probed.parse((await answered)[0]);
}

/** One connection that always has `width` generations under way. @throws Error for anything lost or out of order */
async function load(url: string, width: number, counts: Counts, signal: AbortSignal): Promise<void> {
  const served = z.object({ data: z.tuple([z.object({ id: z.string() })]) });
  const [{ id: model }] = served.parse(JSON.parse(await readAnswer(await fetch(`${url}/v1/models`)))).data;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, SUBPROTOCOL);
  await once(socket, 'open');
  const offsets = new Map<string, number>();
  let seed = 0;
  const ask = (): void => {
    const content = `What is ${12 + (seed % 70)} + ${30 + (seed % 11)} - ${5 + (seed % 13)}?`;
    const messages = [{ role: 'user', content }];
    socket.send(
      JSON.stringify({
        type: 'generation.create',
        model,
        temperature: 1,
        seed: seed++,
        messages,
      }),
    );
  };
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => {
      socket.close();
      resolve();
    };
    const receive = (text: string): void => {
      const event = readEvent(text);
      if (event.type === 'error') throw new Error(`${event.error.code}: ${event.error.message}`);
      if (event.type === 'heartbeat' || event.response_id === undefined || !('offset' in event)) return;
      const expected = offsets.get(event.response_id) ?? 0;
      if (event.offset !== expected) throw new Error(`event ${event.offset} in place of ${expected}`);
      offsets.set(event.response_id, expected + 1);
      counts.events += 1;
      if (event.type !== 'generation.done') return;
      offsets.delete(event.response_id);
      counts.finished += 1;
      if (!signal.aborted) ask();
    };
    socket.on('message', (data) => {
      try {
        receive(data.toString());
      } catch (error) {
        reject(error);
        socket.terminate();
      }
    });
    socket.once('close', () => reject(new Error('a connection was closed')));
    socket.once('error', reject);
    signal.addEventListener('abort', leave);
    for (let i = 0; i < width; i++) ask();
  });
}

function reportOf(settings: SoakReport['settings'], counts: Counts, samples: readonly Sample[]): SoakReport {
  const from = 60 * settings.warmUp;
  const counted = samples.filter(({ seconds }) => seconds >= from);
  const worst = (of: (sample: Sample) => number): number => Math.max(...counted.map(of));
  return {
    machine: thisMachine(),
    settings,
    counts,
    memory: growth(
      samples.map(({ seconds, memory }) => ({ seconds, bytes: memory.heapUsed + memory.external })),
      from,
    ),
    loop: { p99: worst(({ loop }) => loop.p99), max: worst(({ loop }) => loop.max) },
    samples,
  };
}

function format({ counts, loop, memory, settings }: SoakReport): string {
  const bytes = (value: number): string => (value < 0 ? `−${formatBytes(-value)}` : formatBytes(value));
  const grown = memory
    ? [bytes(memory.before), bytes(memory.after), bytes(memory.after - memory.before)]
    : ['n/a', 'n/a', 'n/a'];
  return [
    heading(
      `${settings.streams} concurrent streams for ${settings.minutes} minutes, ${settings.warmUp} of them to warm up`,
    ),
    `${counts.finished} streams finished, ${counts.events} events, none lost, none out of order`,
    '',
    table(
      ['gateway process', 'after warm-up', 'end', 'growth'],
      [['memory after garbage collection', ...grown]],
    ),
    '',
    `event loop delay: p99 ${loop.p99.toFixed(1)} ms in the worst ${settings.every} seconds, ${loop.max.toFixed(1)} ms at most`,
  ].join('\n');
}
