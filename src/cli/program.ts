import { Command } from 'commander';
import { benchCommand } from './bench.js';
import { calibrateCommand } from './calibrate.js';
import { chatCommand } from './chat.js';
import { dataCommand } from './data.js';
import { inspectCommand } from './inspect.js';
import { scoreCommand } from './score.js';
import { serveCommand } from './serve.js';

/** The command `flinch`, apart from the process that runs it: docs/reference/cli.md is made of it, too. */
export function flinchProgram(version: string): Command {
  return new Command('flinch')
    .description('Measures, token by token, how much a language model hesitates while it writes.')
    .version(version)
    .showHelpAfterError('(--help shows the options)')
    .addCommand(serveCommand())
    .addCommand(chatCommand())
    .addCommand(scoreCommand())
    .addCommand(calibrateCommand())
    .addCommand(inspectCommand())
    .addCommand(benchCommand())
    .addCommand(dataCommand());
}
