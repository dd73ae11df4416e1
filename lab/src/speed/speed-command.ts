import { Command } from 'commander';
import { table, thisMachine } from '#bench/markdown-table.js';
import { integer, modelOption, precisionOption } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { heading } from '#cli/terminal-format.js';
import { fastest, timed } from '#src/cost/timing.js';
import type { Precision } from '#src/engine/device.js';
import { Engine } from '#src/engine/engine.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING, DEFAULT_WINDOW } from '#src/uncertainty/settings.js';
import { endlessRequest, SHIPPED_SCORING, write } from './flinch-contestant.js';

const LENGTHS = [64, 128, 256, 512, 1024, 2048];
const STREAMS = [1, 4, 16];
const WRITTEN_TOKENS = 16;
/** Tokens of each of several streams: sixteen of them take minutes. */
const STREAM_TOKENS = 24;

/** `npm run lab -- speed`: how the cost of a token grows with the text, and what several streams share. */
export function speedCommand(): Command {
  return new Command('speed')
    .description('Measure the time of a token by the length of the text, and several streams at once.')
    .addOption(modelOption())
    .addOption(precisionOption())
    .option('--rounds <number>', 'interleaved repetitions of each measurement', integer(1, 1000), 5)
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- speed --model ./SmolLM2-135M-Instruct --precision int8',
    )
    .action(async (options: { model: string; precision: Precision; rounds: number }) => {
      const engine = await Engine.open(options.model, { precision: options.precision });
      try {
        say(`${await measured(engine, options.rounds)}\n`);
      } finally {
        await engine.close();
      }
    });
}

async function measured(engine: Engine, rounds: number): Promise<string> {
  const { checkpoint, contextLength, precision } = engine;
  const lengths = LENGTHS.filter((length) => length + WRITTEN_TOKENS + 1 <= contextLength);
  const { cpu, cores, node } = thisMachine();
  return [
    `${heading(checkpoint.name)} in ${precision} · ${cpu}, ${cores} cores, Node ${node}; the fastest of ${rounds} interleaved rounds`,
    'Milliseconds per token, after so many tokens:',
    byLength(lengths, {
      'writing with the default scores': await writing(engine, lengths, rounds),
      'Adv. Pert.': await passes(engine, lengths, rounds),
    }),
    `Streams of ${STREAM_TOKENS} tokens with Adv. Pert. at once:`,
    await streams(engine, rounds),
  ].join('\n\n');
}

const byLength = (lengths: readonly number[], costs: Readonly<Record<string, readonly number[]>>): string =>
  table(
    ['', ...lengths.map(String), `${lengths.at(-1)} to ${lengths[0]}`],
    Object.entries(costs).map(([name, ms]) => [
      name,
      ...ms.map((each) => each.toFixed(1)),
      (ms.at(-1)! / ms[0]!).toFixed(2),
    ]),
  );

/** Without the cost of reading the prompt. */
async function writing(engine: Engine, lengths: readonly number[], rounds: number): Promise<number[]> {
  const variants = lengths.map((length) => async () => {
    // The keys and values of a prompt are found again in the next round.
    const request = { ...endlessRequest(someIds(engine, length), WRITTEN_TOKENS + 1), client: 'lab' };
    const { tokens, end } = await write(engine, request, SHIPPED_SCORING);
    return end - tokens[0]!;
  });
  return (await fastest(rounds, variants)).map((ms) => ms / WRITTEN_TOKENS);
}

/** Windowed scoring of the last block of a text. */
async function passes(engine: Engine, lengths: readonly number[], rounds: number): Promise<number[]> {
  const texts = await Promise.all(
    lengths.map(async (positions) => {
      const sizes = { positions, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK };
      return {
        length: positions,
        text: await engine.openSequence(sizes),
        newIds: someIds(engine, positions),
      };
    }),
  );
  const adversary = { alpha: DEFAULT_SCORING.alpha, form: 'derivative' } as const;
  const pass = (entry: (typeof texts)[number]) => async (): Promise<void> => {
    const { length: to, text, newIds } = entry;
    entry.newIds = []; // the first round brings the text, fills the cache and is not counted
    const start = Math.max(0, to - 1 - DEFAULT_WINDOW);
    const block = { from: to - DEFAULT_BLOCK, to };
    await text.pass({ newIds, start, ...block, adversary, logprobs: Array(DEFAULT_BLOCK).fill(-1) });
  };
  try {
    const times = await fastest(
      rounds,
      texts.map((entry) => timed(pass(entry))),
    );
    return times.map((ms) => ms / DEFAULT_BLOCK);
  } finally {
    for (const { text } of texts) text.release();
  }
}

/** Several scored streams that start at once, until the last of them has ended. */
async function streams(engine: Engine, rounds: number): Promise<string> {
  const request = endlessRequest(someIds(engine, 32), STREAM_TOKENS);
  const run = (count: number) => () =>
    Promise.all(Array.from({ length: count }, () => write(engine, request, DEFAULT_SCORING)));
  const times = await fastest(
    rounds,
    STREAMS.map((count) => timed(run(count))),
  );
  const speeds = times.map((ms, i) => (1000 * STREAMS[i]! * STREAM_TOKENS) / ms);
  return table(
    ['streams', ...STREAMS.map(String)],
    [['tokens/s, all', ...speeds.map((each) => each.toFixed(1))]],
  );
}

/** A text whose tokens do not matter: speed does not depend on them. */
const someIds = (engine: Engine, count: number): number[] =>
  Array.from({ length: count }, (_, i) => (i * 7919) % engine.checkpoint.config.vocabSize);
