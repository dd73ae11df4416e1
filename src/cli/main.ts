#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { benchCommand } from './bench.js';
import { calibrateCommand } from './calibrate.js';
import { chatCommand } from './chat.js';
import { dataCommand } from './data.js';
import { inspectCommand } from './inspect.js';
import { reportError } from './report.js';
import { scoreCommand } from './score.js';
import { serveCommand } from './serve.js';

// A reader that has seen enough, as `| head` does, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  reportError(error);
  process.exit(1);
});

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

const program = new Command('flinch')
  .description('Measures, token by token, how much a language model hesitates while it writes.')
  .version(String(version))
  .showHelpAfterError('(--help shows the options)')
  .addCommand(serveCommand())
  .addCommand(chatCommand())
  .addCommand(scoreCommand())
  .addCommand(calibrateCommand())
  .addCommand(inspectCommand())
  .addCommand(benchCommand())
  .addCommand(dataCommand());

try {
  await program.parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode ??= 1; // unless the command has its own
}
