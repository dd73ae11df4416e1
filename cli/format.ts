import chalk from 'chalk';
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

/** Heading of one line, whatever is in the name that it shows. */
export const heading = (text: string): string => chalk.bold(visibleLine(text));
