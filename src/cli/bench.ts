import { Command } from 'commander';
import { correctCommand } from '../bench/correct/correct-command.js';
import { reportCommand } from '../bench/report/report-command.js';
import { stepsCommand } from '../bench/steps/steps-command.js';

export function benchCommand(): Command {
  return new Command('bench')
    .description('Measure what the measures and the guard are worth.')
    .addCommand(correctCommand())
    .addCommand(stepsCommand())
    .addCommand(reportCommand());
}
