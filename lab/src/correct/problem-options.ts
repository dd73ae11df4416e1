import { Option } from 'commander';
import { integer, real } from '#cli/options.js';

/** Options for the generated problems, and for answering them. */
export const problemOptions = (defaults: { readonly problems: number; readonly seed: number }): Option[] => [
  new Option('--problems <number>', 'number of problems')
    .argParser(integer(1, 1e6))
    .default(defaults.problems),
  new Option('--seed <number>', 'seed of the first problem and its answer; incremented for each further one')
    .argParser(integer(0, 2 ** 30))
    .default(defaults.seed),
  new Option(
    '--temperature <number>',
    'sampling temperature of the answers (default: set by the model)',
  ).argParser(real(0, 2)),
];
