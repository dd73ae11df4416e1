import { Command } from 'commander';
import { correctCommand } from '../bench/correct/correct-command.js';

export function benchCommand(): Command {
  return new Command('bench').description('Measure what the guard is worth.').addCommand(correctCommand());
}
