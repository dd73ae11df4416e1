import type { WritingSpeed } from '../src/cost/writing-speed.js';
import { chalk } from '../src/files/colours.js';
import { visibleLine } from '../src/files/visible.js';

/** Bytes as people read them. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Two digits, in the largest unit of which there is one. */
export function formatDuration(seconds: number): string {
  const units = [
    ['days', 86_400],
    ['h', 3600],
    ['min', 60],
  ] as const;
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ['s', 1];
  const value = seconds / size;
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

/** Heading of one line, whatever is in the name that it shows. */
export const heading = (text: string): string => chalk.bold(visibleLine(text));

/** What a stream costs, in a line. */
export function priceOf({ written, adversarial }: WritingSpeed): string {
  const speed = `about ${rounded(written)} tokens/s`;
  if (adversarial === null) return `${speed}; Adv. Pert. follows several times slower`;
  if (adversarial > written) return `${speed}; Adv. Pert. keeps up`;
  return `${speed}; Adv. Pert. follows at about ${rounded(adversarial)}`;
}

/** Of two digits. */
export const rounded = (speed: number): number => Number(speed.toPrecision(2));

/** Columns of the widths that they need. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
