import type { Command } from 'commander';
import { ACTIONS, replacesAnswers } from '../../src/guard/guard.js';
import { type GuardFields, guardSchema } from '../../src/guard/guard-fields.js';
import { fieldOption, fieldsOf } from '../field-option.js';

/** Adds the options that say when a step is doubtful and what happens then. They conflict with `--no-score`. */
export function addGuardOptions(command: Command, defaultMethod: string): Command {
  const options = [
    fieldOption('action', '<name>').choices(ACTIONS.filter((action) => !replacesAnswers(action))),
    fieldOption('delivery', '<name>'),
    fieldOption('lag', '<name>', 'wait'),
    fieldOption('method', '<name>', defaultMethod),
    fieldOption('per', '<target>'),
    fieldOption('rate', '<number>'),
    fieldOption('candidates', '<number>'),
    fieldOption('max_rollbacks', '<number>'),
  ];
  command.optionsGroup('Guard:');
  for (const option of options) command.addOption(option.conflicts('score'));
  return command;
}

/** The fields that options give, as a request would. */
export const guardFieldsOf = (options: object): GuardFields => guardSchema.parse(fieldsOf(options));

export const GUARD_HELP =
  'A step is flagged if its score is among the highest of ordinary scores (see flinch calibrate).';
