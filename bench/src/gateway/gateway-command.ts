import { Command } from 'commander';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

/** `flinch bench gateway` */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('Measure what the gateway costs: as a proxy, and under many streams for a long time.')
    .addCommand(proxyCommand())
    .addCommand(soakCommand());
}
