import { type Command, InvalidArgumentError, Option } from 'commander';

/** Names a model that may be on the hub: it is downloaded before the command begins. */
export class ModelOption extends Option {}

/** Lets a command that has no other argument take the model as one: it is the value of its option `--model`. */
export const addModelArgument = (command: Command): Command =>
  command.argument('[model]', 'the same as --model', (model: string) => {
    if (command.getOptionValue('model') !== undefined)
      throw new InvalidArgumentError('--model names one already.');
    command.setOptionValue('model', model);
    return model;
  });
