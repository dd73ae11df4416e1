import { chalk } from '../../src/files/colours.js';
import { visibleLine } from '../../src/files/visible.js';
import { hanging } from '../help-text.js';
import { streams } from '../terminal.js';

/** What a check has found. */
export interface Finding {
  /** What was checked, such as `port` or `upstream`. */
  readonly check: string;
  /** Which of several, such as the name of a model. */
  readonly of?: string;
  /** `problem`: the gateway would not start or not answer; `warning`: it would do so with less. */
  readonly status: 'ok' | 'warning' | 'problem';
  readonly found: string;
  /** A command, or lines of the configuration; `null` where nothing is wrong, or `found` says what to do. */
  readonly remedy: string | null;
  /** The numbers behind it, for programs. */
  readonly facts?: object;
}

export const ok = (check: string, found: string, of?: string, facts?: object): Finding => ({
  check,
  ...(of !== undefined && { of }),
  status: 'ok',
  found,
  remedy: null,
  ...(facts && { facts }),
});

/** @param remedy command, or lines of the configuration */
export const bad = (
  status: 'warning' | 'problem',
  check: string,
  found: string,
  remedy: string | null,
  of?: string,
): Finding => ({ check, ...(of !== undefined && { of }), status, found, remedy });

/** The finding of a check that may throw: its error is the problem. */
export async function attempt(
  check: string,
  run: () => Finding | readonly Finding[] | Promise<Finding | readonly Finding[]>,
  remedy: string | null = null,
  of?: string,
): Promise<readonly Finding[]> {
  try {
    return [await run()].flat();
  } catch (error) {
    return [bad('problem', check, error instanceof Error ? error.message : String(error), remedy, of)];
  }
}

const COLOURS = { ok: chalk.green, warning: chalk.yellow, problem: chalk.red } as const;

/** A row for each finding, and its remedy below it. */
export function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map((finding) => ({
    ...finding,
    name: visibleLine([finding.check, finding.of].filter((part) => part !== undefined).join(' ')),
  }));
  const names = Math.max(...rows.map(({ name }) => name.length));
  const mark = Math.max(...rows.map(({ status }) => status.length));
  const indent = ' '.repeat(mark + names + 4);
  const columns = streams.stdout.columns || Number.POSITIVE_INFINITY;
  // An error of YAML shows the line it is in.
  const shown = (found: string): string =>
    hanging(found.split('\n').map(visibleLine).join('\n'), columns, indent.length);
  const lines = rows.flatMap(({ status, name, found, remedy }) => [
    `${COLOURS[status](status.padEnd(mark))}  ${name.padEnd(names)}  ${shown(found)}`,
    ...(remedy === null ? [] : [`${indent}${chalk.bold(`→ ${visibleLine(remedy)}`)}`]),
  ]);
  return `${lines.join('\n')}\n`;
}
