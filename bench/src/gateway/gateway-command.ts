import { Command } from 'commander';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

/** `flinch bench gateway` */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('Measure the overhead of the gateway as a proxy, and under sustained load.')
    .addCommand(proxyCommand())
    .addCommand(soakCommand());
}
