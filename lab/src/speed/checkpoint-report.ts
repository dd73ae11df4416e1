import { type Machine, percent, table } from '#bench/markdown-table.js';
import { formatBytes, heading } from '#cli/format.js';
import type { Sample } from '#src/cost/timing.js';
import type { MemoryNeed } from '#src/engine/memory.js';
import type { Precision } from '#src/engine/precision.js';
import { DEFAULT_BLOCK, DEFAULT_WINDOW } from '#src/uncertainty/settings.js';
import type { ConversationSpeed, WritingCost } from './conversation.js';
import type { DecodeSpeed } from './decode.js';
import type { EnginesMemory } from './engines-memory.js';
import type { Concurrency, MemoryGrowth, WindowedCost } from './growth.js';
import type { Profile } from './profile.js';
import type { ScorePassSpeed } from './score-passes.js';

/** A section that was not asked for is undefined. */
export interface CheckpointReport {
  readonly model: string;
  readonly weightBytes: number;
  readonly machine: Machine;
  /** Threads of each engine process, and of the references. */
  readonly threads: number;
  readonly rounds: number;
  /** Precision of the process that writes. */
  readonly precision: Precision;
  readonly memory: MemoryGrowth | undefined;
  readonly decode: DecodeSpeed | undefined;
  readonly passes: readonly ScorePassSpeed[] | undefined;
  readonly lengths:
    | { readonly windowed: readonly WindowedCost[]; readonly writing: readonly WritingCost[] }
    | undefined;
  readonly conversation: ConversationSpeed | undefined;
  readonly streams: { readonly tokens: number; readonly counts: readonly Concurrency[] } | undefined;
  readonly profiles: readonly Profile[] | undefined;
}

/** The report as tables of Markdown. */
export function formatCheckpointReport(report: CheckpointReport): string {
  const {
    model,
    weightBytes,
    machine,
    precision,
    threads,
    rounds,
    memory,
    decode,
    passes,
    lengths,
    conversation,
    streams,
  } = report;
  const parts = [
    `${heading(model)}, ${formatBytes(weightBytes)} of weights · ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}\nwriting in ${precision}, threads for each process: ${threads}, the fastest of ${rounds} interleaved rounds`,
    memory && formatMemory(memory),
    decode && formatDecode(decode),
    passes && formatPasses(passes),
    lengths &&
      formatLengths(
        `Adv. Pert. of the last block of a text, block ${DEFAULT_BLOCK}, window ${DEFAULT_WINDOW}`,
        'tokens of the text',
        lengths.windowed,
      ),
    lengths &&
      formatLengths('Writing with the scores of the default guard', 'tokens of the prompt', lengths.writing),
    conversation && formatConversation(conversation),
    streams && formatStreams(streams),
    ...(report.profiles ?? []).map(formatProfile),
  ];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

function formatMemory({ atRest, afterStream, afterPass, predicted, ...sizes }: MemoryGrowth): string {
  const needed = ({ kept, run }: MemoryNeed): string => formatBytes(kept + run);
  const row = (
    name: string,
    role: keyof EnginesMemory,
    now: EnginesMemory,
    estimate?: MemoryNeed,
  ): string[] => {
    const bytes = now[role]?.process?.private;
    const before = atRest[role]?.process?.private;
    const known = bytes !== undefined && before !== undefined;
    return [
      `${role}, ${name}`,
      bytes === undefined ? 'n/a' : formatBytes(bytes),
      estimate && known ? formatBytes(bytes - before) : '',
      estimate ? needed(estimate) : '',
      formatBytes(now[role]?.weights?.private ?? 0),
    ];
  };
  const stream = `after a scored stream of ${sizes.streamTokens} tokens`;
  const pass = `after a pass over ${sizes.passPositions} positions`;
  return section(
    'Private memory of the engine processes',
    ['', 'private', 'more than at rest', 'flinch inspect estimates', 'weights copied'],
    [
      row('at rest', 'decode', atRest),
      row('at rest', 'score', atRest),
      row(stream, 'decode', afterStream, predicted.decode),
      row(stream, 'score', afterStream, predicted.stream),
      row(pass, 'score', afterPass, predicted.pass),
    ],
  );
}

const gigabytes = (bytesPerSecond: number): string => (bytesPerSecond / 1e9).toFixed(1);

function formatDecode(speed: DecodeSpeed): string {
  const best = Math.max(...Object.values(speed.readers));
  const names: Record<string, string> = {
    sum: 'sum of one large array',
    mapped: 'sum of the mapped weights',
    products: 'one row times each weight',
  };
  return section(
    `Decoding: ${speed.tokensPerSecond.toFixed(1)} tokens/s, ${formatBytes(speed.bytesPerToken)} of weights for each`,
    ['', 'GB/s', 'of the best reader'],
    [
      ['decode', gigabytes(speed.bytesPerSecond), percent(speed.share)],
      ...Object.entries(speed.readers).map(([name, rate]) => [
        names[name] ?? name,
        gigabytes(rate),
        percent(rate / best),
      ]),
    ],
  );
}

function formatPasses(passes: readonly ScorePassSpeed[]): string {
  return section(
    'Score passes, and their products with weights alone in the same rounds',
    [
      'window',
      'past',
      'scored',
      'ms',
      'GFLOP',
      'GFLOP/s',
      'products alone',
      'share',
      'with packed weights',
      'share',
    ],
    passes.map(({ window, past, scored, pass, operations, gigaflops, products, packed }) => [
      String(window),
      String(past),
      String(scored),
      pass.best.toFixed(0),
      ((operations.weights + operations.attention) / 1e9).toFixed(0),
      gigaflops.toFixed(0),
      products.gigaflops.toFixed(0),
      percent(products.share),
      packed.gigaflops.toFixed(0),
      percent(packed.share),
    ]),
  );
}

function formatLengths(
  title: string,
  of: string,
  costs: readonly { readonly length: number; readonly sample: Sample }[],
): string {
  const first = costs[0]?.sample.best ?? Number.NaN;
  return section(
    title,
    [of, 'ms per token', 'of the first'],
    costs.map(({ length, sample }) => [
      String(length),
      sample.best.toFixed(1),
      (sample.best / first).toFixed(2),
    ]),
  );
}

function formatConversation({ promptTokens, addedTokens, first, next }: ConversationSpeed): string {
  return section(
    'A conversation: seconds to the first token, with its scores',
    ['turn', 'tokens', 'new', 'median', 'best', 'of the first'],
    [
      { name: 'first', tokens: promptTokens, added: promptTokens, sample: first },
      { name: 'next', tokens: promptTokens + addedTokens, added: addedTokens, sample: next },
    ].map(({ name, tokens, added, sample }) => [
      name,
      String(tokens),
      String(added),
      (sample.median / 1000).toFixed(2),
      (sample.best / 1000).toFixed(2),
      (sample.median / first.median).toFixed(3),
    ]),
  );
}

function formatStreams({ tokens, counts }: { tokens: number; counts: readonly Concurrency[] }): string {
  return section(
    `Streams of ${tokens} tokens at once, scored as by default`,
    ['streams', 'tokens/s, all', 'tokens/s, each'],
    counts.map(({ streams, tokensPerSecond }) => [
      String(streams),
      tokensPerSecond.toFixed(1),
      (tokensPerSecond / streams).toFixed(2),
    ]),
  );
}

const SHOWN_OPERATORS = 10;

function formatProfile({ window, past, scored, milliseconds, inOperators, operators }: Profile): string {
  return section(
    `Window ${window} after ${past} positions, ${scored} scored: ${milliseconds.toFixed(0)} ms, ${inOperators.toFixed(0)} of them in operators`,
    ['operator', 'share', 'ms', 'nodes'],
    operators
      .slice(0, SHOWN_OPERATORS)
      .map(({ operator, share, nodes, milliseconds: ms }) => [
        operator,
        `${(100 * share).toFixed(1)} %`,
        ms.toFixed(1),
        String(nodes),
      ]),
  );
}

const section = (title: string, header: readonly string[], rows: readonly (readonly string[])[]): string =>
  `${heading(title)}\n\n${table(header, rows)}`;
