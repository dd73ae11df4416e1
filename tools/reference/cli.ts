import type { Argument, Command, Option } from 'commander';
import { fitted } from '#cli/help-text.js';
import { code, fence, page, table } from './reference-markdown.js';
import { defaultWords, withoutDefault } from './schema-pages.js';

/** Columns of the help texts, whatever the terminal that the page is made in. */
const WIDTH = 100;

/** Every command with its options, and the words of its `--help` after them. */
export function cliReference(program: Command): string {
  const commands = withSubcommands(program);
  return page('Commands', 'the commands themselves (`--help`)', commands.map(describe));
}

/** `help` needs no section. */
export const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

/** `flinch bench run` */
export function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

function describe(command: Command): string {
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const groups = [...new Set(options.map(groupOf))];
  const parts = [
    `## ${fullName(command)}`,
    command.description(),
    fence('text', help.commandUsage(command)),
    ...argumentTable(command.registeredArguments),
    ...groups.flatMap((group) => [
      ...(group === '' ? [] : [group]),
      optionTable(options.filter((option) => groupOf(option) === group)),
    ]),
    ...subcommands(command),
    ...notes(command),
  ];
  return parts.join('\n\n');
}

const groupOf = ({ helpGroupHeading = '' }: Option): string => helpGroupHeading;

function optionTable(options: readonly Option[]): string {
  const rows = options.map((option) => [
    code(option.flags),
    meaning(withoutDefault(option.description), option.argChoices),
    defaultOf(option),
  ]);
  return table(['option', 'meaning', 'default'], rows);
}

function argumentTable(args: readonly Argument[]): string[] {
  if (args.length === 0) return [];
  const rows = args.map((argument) => [
    code(argument.required ? argument.name() : `[${argument.name()}]`),
    meaning(argument.description, argument.argChoices),
    defaultOf(argument),
  ]);
  return [table(['argument', 'meaning', 'default'], rows)];
}

const meaning = (description: string, choices: readonly string[] | undefined): string =>
  choices ? `${description}: ${choices.map(code).join(', ')}` : description;

function defaultOf({ description, defaultValue, defaultValueDescription }: Option | Argument): string {
  const said = defaultWords(description);
  if (said !== undefined) return said;
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  if (defaultValue === undefined || typeof defaultValue === 'boolean') return '';
  return code(String(defaultValue));
}

function subcommands(command: Command): string[] {
  if (command.commands.length === 0) return [];
  const rows = command.commands.map((each) => [code(each.name()), each.description()]);
  return [table(['command', ''], rows)];
}

/** Text of `--help` after the options. */
function notes(command: Command): string[] {
  let written = '';
  command.configureOutput({
    writeOut: (text) => (written += text),
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  const after = written.slice(command.helpInformation().length).trim();
  return after === '' ? [] : [fence('text', fitted(after, WIDTH))];
}
