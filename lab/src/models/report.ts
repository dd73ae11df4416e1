import { median } from 'simple-statistics';
import { type Machine, table } from '#bench/markdown-table.js';
import type { GoldenRow } from './golden.js';
import type { SpeedRow } from './speed.js';

export interface ModelsReport {
  readonly golden?: readonly GoldenRow[];
  readonly speed?: {
    readonly shape: string;
    readonly machine: Machine;
    readonly tokens: number;
    readonly rounds: number;
    readonly rows: readonly SpeedRow[];
  };
}

const error = (value: number): string => value.toExponential(1).replace('e-', ' · 10^−');

/** The report as tables of Markdown. */
export function formatModels({ golden, speed }: ModelsReport): string {
  return [...(golden ? [goldenTable(golden)] : []), ...(speed ? [speedTable(speed)] : [])].join('\n\n');
}

const goldenTable = (rows: readonly GoldenRow[]): string =>
  table(
    [
      'family',
      'format',
      'tokens',
      'scored, fp32',
      'written, fp32',
      'written, int8',
      'its mean',
      'adversarial',
    ],
    rows.map(({ family, format, tokens, scored, written, writtenMean, adversarial }) => [
      ...[family, format, String(tokens), error(scored), error(written.fp32), written.int8.toFixed(2)],
      writtenMean.toFixed(3),
      adversarial === null ? '' : error(adversarial),
    ]),
  );

function speedTable({ shape, machine, tokens, rounds, rows }: NonNullable<ModelsReport['speed']>): string {
  const spread = (values: readonly number[]): string =>
    `${median([...values]).toFixed(1)} (${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)})`;
  const megabytes = (bytes: number | null): string => (bytes === null ? 'n/a' : (bytes / 1e6).toFixed(0));
  return [
    `${shape} · ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}; ${tokens} tokens; median (least–most) of ${rounds} rounds`,
    '',
    table(
      ['format', 'precision', 'file, MB', 'mapped, MB', 'memory, MB', 'tokens/s', 'scored tokens/s'],
      rows.map(({ format, precision, fileBytes, weightBytes, memoryBytes, written, scored }) => [
        ...[format, precision, megabytes(fileBytes), megabytes(weightBytes), megabytes(memoryBytes)],
        ...[spread(written), spread(scored)],
      ]),
    ),
  ].join('\n');
}
