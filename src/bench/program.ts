import { Command } from 'commander';
import { schedulesCommand } from './schedules/schedules-command.js';
import { soakCommand } from './soak/soak-command.js';
import { checkpointCommand } from './speed/checkpoint-command.js';
import { speedCommand } from './speed/speed-command.js';

/** The command `npm run bench`. */
export function benchProgram(): Command {
  return new Command('npm run bench --')
    .description('Measures speed, memory and streaming schedules. Without a command: speed.')
    .showHelpAfterError('(--help shows the options)')
    .addCommand(speedCommand(), { isDefault: true })
    .addCommand(checkpointCommand())
    .addCommand(schedulesCommand())
    .addCommand(soakCommand());
}
