import { Command } from 'commander';
import { lagCommand } from './lag-command.js';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

/** `flinch bench gateway` */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description(
      'Measure the overhead of the gateway as a proxy, with a slow scorer, and under sustained load.',
    )
    .addCommand(proxyCommand())
    .addCommand(lagCommand())
    .addCommand(soakCommand());
}
