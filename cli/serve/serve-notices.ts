import { chalk } from '../../src/files/colours.js';
import { visibleLine } from '../../src/files/visible.js';
import { heading } from '../terminal-format.js';

interface Start {
  readonly url: string;
  /** Each with its device. */
  readonly models: readonly string[];
  /** What the guard does, for each of the models. */
  readonly guards: readonly string[];
  readonly hints: readonly string[];
}

/** What `flinch serve` prints at its start: the address, then a table. */
export const startNotice = ({ url, models, guards, hints }: Start): string =>
  [
    `\n  ${heading(url)}  ${chalk.dim('(Ctrl-C to stop)')}\n\n`,
    ...models.flatMap((model, i) => [row('model', model), row('guard', guards[i] ?? '')]),
    ...hints.map((hint) => row('note', hint)),
  ].join('');

/** What comes from elsewhere is visible in it. */
export const row = (name: string, text: string): string =>
  `  ${chalk.dim(name.padEnd(5))}  ${visibleLine(text)}\n`;
