import { type Machine, percent, table } from '#bench/markdown-table.js';
import { formatBytes, heading } from '#cli/format.js';
import type { MemoryNeed } from '#src/engine/memory.js';
import type { EnginesMemory } from './engines-memory.js';
import type { PassCost } from './passes.js';
import type { LengthCost, StreamSpeed } from './streams.js';

export interface SpeedReport {
  readonly model: string;
  readonly weightBytes: number;
  readonly machine: Machine;
  readonly rounds: number;
  readonly streamTokens: number;
  readonly streams: readonly StreamSpeed[];
  readonly passes: readonly PassCost[];
  readonly lengths: readonly LengthCost[];
  readonly memory: {
    readonly atRest: EnginesMemory;
    readonly afterStreams: EnginesMemory;
    readonly afterOffline: EnginesMemory;
  };
  readonly predicted: { readonly windowed: MemoryNeed; readonly offline: MemoryNeed };
}

/** The report as tables for a terminal. */
export function formatReport(report: SpeedReport): string {
  const { model, machine, rounds } = report;
  return [
    `${heading(model)}, ${formatBytes(report.weightBytes)} of weights · ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}`,
    `medians of ${rounds} interleaved rounds`,
    '',
    heading(`Generation of ${report.streamTokens} tokens`),
    table(
      ['', 'tokens/s', 'of decode alone'],
      report.streams.map(({ name, tokensPerSecond, share }) => [
        name,
        tokensPerSecond.toFixed(0),
        percent(share),
      ]),
    ),
    '',
    heading('A score pass against a plain forward pass of the same positions, one thread'),
    table(
      ['positions', 'forward ms', 'score ms', 'score µs/position', 'ratio'],
      report.passes.map(({ positions, forward, score, ratio }) => [
        String(positions),
        forward.median.toFixed(2),
        score.median.toFixed(2),
        ((1000 * score.median) / positions).toFixed(0),
        ratio.toFixed(2),
      ]),
    ),
    '',
    heading('Scoring cost in ms per token, by length of the response'),
    table(
      ['length', 'block 8, window 64', 'block 8, window all', 'offline, whole text'],
      report.lengths.map(({ length, window64, windowAll, offline }) => [
        String(length),
        window64.median.toFixed(2),
        windowAll.median.toFixed(2),
        offline.median.toFixed(2),
      ]),
    ),
    '',
    heading('Memory of the engine processes'),
    memoryTable(report),
    `One text of 544 tokens, estimated by flinch inspect: windowed ${needed(report.predicted.windowed)}, offline ${needed(report.predicted.offline)}`,
  ].join('\n');
}

function memoryTable({ memory }: SpeedReport): string {
  const stages = {
    'at rest': memory.atRest,
    'after streaming': memory.afterStreams,
    'after offline passes': memory.afterOffline,
  };
  const rows = Object.entries(stages).flatMap(([stage, both]) =>
    (['decode', 'score'] as const).map((role) => {
      const engine = both[role];
      const bytes = (value: number | undefined): string => (value === undefined ? 'n/a' : formatBytes(value));
      return [
        `${role}, ${stage}`,
        bytes(engine?.process?.private),
        bytes(engine?.process?.shared),
        bytes(engine?.weights?.resident),
        bytes(engine?.weights?.private),
      ];
    }),
  );
  return table(['', 'private', 'shared', 'weights mapped', 'weights copied'], rows);
}

const needed = ({ kept, run }: MemoryNeed): string => formatBytes(kept + run);
