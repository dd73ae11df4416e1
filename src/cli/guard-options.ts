import type { Command } from 'commander';
import { type GuardFields, guardSchema } from '../stream/guard-fields.js';
import { fieldOption, fieldsOf } from './field-option.js';

/** Adds the options that say when a step is doubtful and what happens then. They conflict with `--no-score`. */
export function addGuardOptions(command: Command, defaultMethod: string): Command {
  const options = [
    fieldOption('action', '<name>'),
    fieldOption('delivery', '<name>'),
    fieldOption('method', '<name>', defaultMethod),
    fieldOption('per', '<target>'),
    fieldOption('statistic', '<name>'),
    fieldOption('rate', '<number>'),
    fieldOption('rollback_to', '<target>'),
    fieldOption('candidates', '<number>'),
    fieldOption('choose', '<how>'),
    fieldOption('candidate_temperature', '<number>'),
    fieldOption('reflection', '<text>'),
    fieldOption('max_rollbacks', '<number>'),
  ];
  command.optionsGroup('Guard:');
  for (const option of options) command.addOption(option.conflicts('score'));
  return command;
}

/** The fields that options give, as a request would. */
export const guardFieldsOf = (options: object): GuardFields => guardSchema.parse(fieldsOf(options));
export const GUARD_HELP = `Actions on a step whose score is among the highest of ordinary ones (flinch calibrate says what is ordinary):
  annotate     it is marked
  stop         the answer ends there
  rollback     other continuations are drawn from there, and the best of them goes on
  reflect      a request to check it is put after it`;
