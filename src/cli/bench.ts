import { Command } from 'commander';
import { correctCommand } from '../bench/correct/correct-command.js';
import { reportCommand } from '../bench/report/report-command.js';
import { mergeCommand } from '../bench/run/merge-command.js';
import { runCommand } from '../bench/run/run-command.js';

export function benchCommand(): Command {
  return new Command('bench')
    .description('Measure what the measures and the guard are worth.')
    .addCommand(runCommand())
    .addCommand(mergeCommand())
    .addCommand(reportCommand())
    .addCommand(correctCommand());
}
