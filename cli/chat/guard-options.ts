import type { Command, Option } from 'commander';
import { ACTIONS, replacesAnswers } from '../../src/guard/guard.js';
import { type GuardFields, guardSchema } from '../../src/guard/guard-fields.js';
import { fieldOption, fieldsOf } from '../field-option.js';

/** Adds the options of the guard that everybody needs. They conflict with `--no-score`, as the others do. */
export const addFirstGuardOptions = (command: Command): Command =>
  addOptions(command, [
    here(fieldOption('action', '<name>')).choices(ACTIONS.filter((action) => !replacesAnswers(action))),
    fieldOption('rate', '<number>'),
  ]);

/** Adds the other options that say when a step is doubtful and what happens then. */
export const addGuardOptions = (command: Command, defaultMethod: string): Command =>
  addOptions(command.optionsGroup('Guard:'), [
    fieldOption('delivery', '<name>'),
    fieldOption('lag', '<name>', 'wait'),
    fieldOption('method', '<name>', defaultMethod),
    fieldOption('per', '<target>'),
    here(fieldOption('candidates', '<number>')),
    fieldOption('max_rollbacks', '<number>'),
  ]);

/** Without the words about actions of a gateway. */
function here(option: Option): Option {
  option.description = option.description.replace(/; (or another model|vote:).*/, '');
  return option;
}

function addOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option.conflicts('score'));
  return command;
}

/** The fields that options give, as a request would. */
export const guardFieldsOf = (options: object): GuardFields => guardSchema.parse(fieldsOf(options));

export const GUARD_HELP =
  'A step is flagged if its score is among the highest of ordinary scores (see flinch calibrate).';
