#!/usr/bin/env node
import { Command } from 'commander';
import { reportError } from '../../src/cli/report.js';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

const program = new Command('npm run bench:gateway --')
  .description(
    'What the gateway costs: as a proxy, and under many streams for a long time. Without a command: proxy.',
  )
  .showHelpAfterError('(--help shows the options)')
  .addCommand(proxyCommand(), { isDefault: true })
  .addCommand(soakCommand());

try {
  await program.parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode = 1;
}
