import { Command } from 'commander';
import { agreementCommand } from './agreement/agreement-command.js';
import { correctCommand } from './correct/correct-command.js';
import { detectionCommand } from './detection/detection-command.js';
import { gatewayCommand } from './gateway/gateway-command.js';
import { peersCommand } from './peers/peers-command.js';
import { pretrainedCommand } from './pretrained/pretrained-command.js';
import { reportCommand } from './report/report-command.js';
import { mergeCommand } from './run/merge-command.js';
import { runCommand } from './run/run-command.js';
import { schedulesCommand } from './schedules/schedules-command.js';
import { soakCommand } from './soak/soak-command.js';
import { checkpointCommand } from './speed/checkpoint-command.js';
import { peersSpeedCommand } from './speed/peers-speed-command.js';
import { speedCommand } from './speed/speed-command.js';
import { verdictCommand } from './verdict/verdict-command.js';

/** `flinch bench`: what the methods and the guard are worth, and what they cost. */
export function benchCommand(): Command {
  return new Command('bench')
    .commandsGroup('Evaluation:')
    .addCommand(runCommand())
    .addCommand(mergeCommand())
    .addCommand(reportCommand())
    .addCommand(correctCommand())
    .addCommand(verdictCommand())
    .addCommand(detectionCommand())
    .addCommand(schedulesCommand())
    .addCommand(agreementCommand())
    .addCommand(pretrainedCommand())
    .commandsGroup('Speed and memory:')
    .addCommand(speedCommand())
    .addCommand(checkpointCommand())
    .addCommand(peersSpeedCommand())
    .addCommand(soakCommand())
    .addCommand(gatewayCommand())
    .commandsGroup('Peers:')
    .addCommand(peersCommand());
}
