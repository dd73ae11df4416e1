import type { Command, Option } from 'commander';
import { ACTIONS, replacesAnswers } from '../../src/guard/guard.js';
import { type GuardFields, guardSchema } from '../../src/guard/guard-fields.js';
import { fieldOption, fieldsOf } from '../field-option.js';

/** Adds the options that say when a step is doubtful and what happens then. They conflict with `--no-score`. */
export function addGuardOptions(command: Command, defaultMethod: string): Command {
  const add = (...options: readonly Option[]): void => {
    for (const option of options) command.addOption(option.conflicts('score'));
  };
  add(
    here(fieldOption('action', '<name>')).choices(ACTIONS.filter((action) => !replacesAnswers(action))),
    fieldOption('rate', '<number>'),
  );
  command.optionsGroup('Guard:');
  add(
    fieldOption('delivery', '<name>'),
    fieldOption('lag', '<name>', 'wait'),
    fieldOption('method', '<name>', defaultMethod),
    fieldOption('per', '<target>'),
    here(fieldOption('candidates', '<number>')),
    fieldOption('max_rollbacks', '<number>'),
  );
  return command;
}

/** Without the words about actions of a gateway. */
function here(option: Option): Option {
  option.description = option.description.replace(/; (or another model|vote:).*/, '');
  return option;
}

/** The fields that options give, as a request would. */
export const guardFieldsOf = (options: object): GuardFields => guardSchema.parse(fieldsOf(options));
