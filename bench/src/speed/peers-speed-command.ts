import { writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { integer, Progress } from 'flinch/internals';
import { median } from 'simple-statistics';
import { type Machine, table, thisMachine } from '../markdown-table.js';
import { type Contestant, openFlinch, openPeer, PEERS, type PeerName, type Work } from './contestants.js';

const NAMES = Object.keys(PEERS).filter((name): name is PeerName => name in PEERS);
const STREAMS = [1, 8] as const;
const PROMPT_TOKENS = 32;
/** Ids of whole words, so that no server treats any of them as special. */
const [FIRST_ID, LAST_ID] = [1000, 40_000];

interface Options {
  readonly peers: readonly PeerName[];
  readonly tokens: number;
  readonly rounds: number;
  readonly output: string;
}

interface Speed {
  readonly streams: number;
  /** Of all streams together, one number for each round. */
  readonly tokensPerSecond: readonly number[];
  /** The same divided by the speed of the first row in the same round. */
  readonly ratios: readonly number[];
}

interface Row {
  readonly name: string;
  readonly memoryBytes: number | null;
  readonly speeds: readonly Speed[];
}

interface Report {
  readonly model: string;
  readonly machine: Machine;
  readonly promptTokens: number;
  readonly tokens: number;
  readonly rounds: number;
  readonly rows: readonly Row[];
}

export function peersSpeedCommand(): Command {
  return new Command('peers-speed')
    .description('Measure speed and memory of flinch beside vLLM and llama.cpp on SmolLM2-135M-Instruct.')
    .addOption(
      new Option('--peers <names>', `servers to run, among ${NAMES.join(',')}`)
        .argParser(parsePeers)
        .default(NAMES, 'all'),
    )
    .option('--tokens <number>', 'length of each answer', integer(8, 400), 48)
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(3, 100), 3)
    .option('--output <file>', 'write the results as JSON', 'bench-peers.json')
    .addHelpText(
      'after',
      '\nExample:\n  $ npx flinch bench peers-speed --peers vllm-fp32,llama-q4 --rounds 5',
    )
    .action(bench);
}

function parsePeers(text: string): PeerName[] {
  return text.split(',').map((name) => {
    const peer = NAMES.find((known) => known === name.trim());
    if (!peer) throw new InvalidArgumentError(`"${name}" is not one of ${NAMES.join(', ')}.`);
    return peer;
  });
}

async function bench(options: Options): Promise<void> {
  const contestants: Contestant[] = [];
  const kill = (): void => {
    for (const contestant of contestants) contestant.kill();
  };
  const interrupt = (signal: 'SIGINT' | 'SIGTERM'): never => process.exit(128 + constants.signals[signal]);
  process.once('exit', kill).once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const progress = new Progress(options.peers.length + 2 + options.rounds);
  try {
    contestants.push(...(await openFlinch()));
    progress.advance();
    for (const peer of options.peers) {
      contestants.push(await openPeer(peer));
      contestants.at(-1)!.turn(false);
      progress.advance();
    }
    const report = await measure(contestants, options, () => progress.advance());
    progress.stop();
    await writeFile(options.output, `${JSON.stringify(report, null, 2)}\n`);
    process.stdout.write(`${formatPeersSpeed(report)}\n\nwritten to ${options.output}\n`);
  } finally {
    progress.stop();
    await Promise.all(contestants.map((contestant) => contestant.close()));
    process.off('exit', kill).off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Everyone in turn, round after round, while the others are stopped. The first round is short and not counted. */
async function measure(
  contestants: readonly Contestant[],
  { tokens, rounds }: Options,
  onRound: () => void,
): Promise<Report> {
  const times = new Map<string, number[]>();
  const memory = new Map<string, number | null>();
  for (let round = 0; round <= rounds; round++) {
    for (const streams of STREAMS) {
      for (const contestant of contestants.filter((one) => one.streams >= streams)) {
        const work = { prompts: prompts(streams, round), tokens: round === 0 ? 8 : tokens };
        const seconds = await inTurn(contestant, work);
        const key = `${contestant.name} ${streams}`;
        if (round > 0) times.set(key, [...(times.get(key) ?? []), seconds]);
        memory.set(contestant.name, await contestant.memory());
      }
    }
    onRound();
  }
  const speeds = (name: string, streams: number): number[] =>
    (times.get(`${name} ${streams}`) ?? []).map((seconds) => (streams * tokens) / seconds);
  const first = contestants[0]!.name;
  return {
    model: 'SmolLM2-135M-Instruct',
    machine: thisMachine(),
    promptTokens: PROMPT_TOKENS,
    tokens,
    rounds,
    rows: contestants.map(({ name, streams: most }) => ({
      name,
      memoryBytes: memory.get(name) ?? null,
      speeds: STREAMS.filter((streams) => streams <= most).map((streams) => {
        const tokensPerSecond = speeds(name, streams);
        const reference = speeds(first, streams);
        return { streams, tokensPerSecond, ratios: tokensPerSecond.map((speed, i) => speed / reference[i]!) };
      }),
    })),
  };
}

async function inTurn(contestant: Contestant, work: Work): Promise<number> {
  contestant.turn(true);
  try {
    const start = performance.now();
    await contestant.run(work);
    return (performance.now() - start) / 1000;
  } finally {
    contestant.turn(false);
  }
}

/** Others in each round and stream: nobody finds the prompt in a cache. */
function prompts(streams: number, round: number): number[][] {
  return Array.from({ length: streams }, (_, stream) =>
    Array.from(
      { length: PROMPT_TOKENS },
      (_, i) =>
        FIRST_ID + ((((round * 100 + streams + stream) * PROMPT_TOKENS + i) * 7919) % (LAST_ID - FIRST_ID)),
    ),
  );
}

/** The report as a table of Markdown. */
export function formatPeersSpeed({ model, machine, promptTokens, tokens, rounds, rows }: Report): string {
  const spread = (values: readonly number[], digits: number): string =>
    `${median([...values]).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;
  const cells = (speed: Speed | undefined): string[] =>
    speed ? [spread(speed.tokensPerSecond, 1), spread(speed.ratios, 2)] : ['', ''];
  return [
    `${model} · ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`,
    `${tokens} tokens after a prompt of ${promptTokens}, from request to last token; median (least–most) of ${rounds} interleaved rounds; ratios to the first row`,
    '',
    table(
      ['', 'memory, MB', ...STREAMS.flatMap((n) => [`tokens/s, ${n} stream${n > 1 ? 's' : ''}`, 'ratio'])],
      rows.map(({ name, memoryBytes, speeds }) => [
        name,
        memoryBytes === null ? 'n/a' : (memoryBytes / 1e6).toFixed(0),
        ...STREAMS.flatMap((n) => cells(speeds.find(({ streams }) => streams === n))),
      ]),
    ),
  ].join('\n');
}
