import type { Readable, Writable } from 'node:stream';
import { chalk, chalkStderr } from '../src/files/colours.js';
import { visible } from '../src/files/visible.js';

/*
 * All that commands write goes through here, for people and as JSON: what a model, a hub or a file says is shown, and a
 * terminal obeys none of it.
 */

/** Streams that commands read and write. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** Those of the process, unless the last program that was made has others: one runs at a time. */
export let streams: Streams = process;

export function useStreams(other: Streams): void {
  streams = other;
}

export const say = (text: string): void => void streams.stdout.write(shown(text));

/** Prints to standard error text that is not a result. */
export const note = (text: string): void => void streams.stderr.write(visible(text));

/** Prints a notice: a line on standard error that begins with the program's name. */
export const remark = (text: string): void => note(`flinch: ${indented(text)}\n`);

/** The same for what went wrong. */
export const complain = (text: string): void =>
  void streams.stderr.write(`${chalkStderr.red('flinch:')} ${visible(indented(text))}\n`);

/** No text from elsewhere begins a line like ours. */
const indented = (text: string): string => text.replaceAll('\n', '\n  ');

/** Whether standard error can show a bar: a dumb terminal does not go back to the start of a line. */
export const showsBars = (): boolean => streams.stderr.isTTY === true && process.env.TERM !== 'dumb';

/** Text that was made visible before it got colours. */
export const paint = (text: string): void => void streams.stdout.write(text);

/** Headings stay bold. Bold text is all that others can make with that. */
const shown = (text: string): string =>
  chalk.level === 0
    ? visible(text)
    : text
        .split(BOLD)
        .map((part, i) => (i % 2 === 1 ? part : visible(part)))
        .join('');

// biome-ignore lint/suspicious/noControlCharactersInRegex: what chalk.bold writes
const BOLD = /(\x1b\[(?:1|22)m)/;
