import { chalk } from '../src/files/colours.js';
import { visibleLine } from '../src/files/visible.js';
import { heading } from './format.js';

interface Start {
  readonly url: string;
  /** Each with its device. */
  readonly models: readonly string[];
  /** What the guard does, for each of the models. */
  readonly guards: readonly string[];
  readonly hints: readonly string[];
}

/** What `flinch serve` prints on standard output; what comes from elsewhere is visible in it. */
interface Notices {
  readonly start: (start: Start) => string;
  readonly price: (price: string) => string;
}

/** One line, and one for each hint. */
export const plainNotices: Notices = {
  start: ({ url, models, hints }) =>
    lines([
      `${heading('flinch')} serves ${visibleLine(models.join(', '))} at ${heading(url)} (Ctrl-C to stop)`,
      ...hints.map(visibleLine),
    ]),
  price: (price) => lines([visibleLine(price)]),
};

/** The address first, then a table. */
export const terminalNotices: Notices = {
  start: ({ url, models, guards, hints }) =>
    lines([
      '',
      `  ${heading(url)}  ${chalk.dim('(Ctrl-C to stop)')}`,
      '',
      ...models.flatMap((model, i) => [row('model', model), row('guard', guards[i] ?? '')]),
      ...hints.map((hint) => row('note', hint)),
    ]),
  price: (price) => lines([row('price', price)]),
};

const row = (name: string, text: string): string => `  ${chalk.dim(name.padEnd(5))}  ${visibleLine(text)}`;

const lines = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('');
