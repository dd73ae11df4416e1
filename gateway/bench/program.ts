import { Command } from 'commander';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

/** The command `npm run bench:gateway`. */
export function gatewayBenchProgram(): Command {
  return new Command('npm run bench:gateway --')
    .description(
      'What the gateway costs: as a proxy, and under many streams for a long time. Without a command: proxy.',
    )
    .showHelpAfterError('(--help shows the options)')
    .addCommand(proxyCommand(), { isDefault: true })
    .addCommand(soakCommand());
}
