import { Command } from 'commander';
import { clusterCommand } from './cluster-command.js';
import { faultsCommand } from './faults/faults-command.js';
import { lagCommand } from './lag-command.js';
import { proxyCommand } from './proxy-command.js';
import { soakCommand } from './soak-command.js';

/** `npm run lab -- gateway` */
export function gatewayCommand(): Command {
  return new Command('gateway')
    .description(
      'Measure gateways: overhead as a proxy, with a slow scorer, under sustained load, under faults, several of them.',
    )
    .addCommand(proxyCommand())
    .addCommand(lagCommand())
    .addCommand(soakCommand())
    .addCommand(faultsCommand())
    .addCommand(clusterCommand());
}
