import { availableParallelism, cpus } from 'node:os';

/** Machine of a measurement. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
}

export function thisMachine(): Machine {
  return { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version };
}

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** A table of Markdown, aligned so that it reads in a terminal too. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) =>
    Math.max(3, name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(' | ')} |`;
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}
