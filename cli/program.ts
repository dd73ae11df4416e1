import { Command, CommanderError } from 'commander';
import { optionalPackage } from '../src/files/optional-package.js';
import { fitted } from './help-text.js';
import { ModelOption } from './model-option.js';
import { note, type Streams, say, useStreams } from './terminal.js';

interface Subcommand {
  readonly name: string;
  readonly description: string;
  /**
   * Loads the command's module: `flinch --help` needs none of them.
   * @param next the word after the command's name
   */
  readonly load: (next?: string) => Promise<Command>;
}

const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'serve',
    description: 'Serve models: OpenAI-compatible API, WebSocket stream, web page.',
    load: async () => (await import('./serve/serve.js')).serveCommand(),
  },
  {
    name: 'chat',
    description: 'Ask a model and see where it is uncertain.',
    load: async () => (await import('./chat/chat.js')).chatCommand(),
  },
  {
    name: 'score',
    description: 'Score finished responses (JSON Lines).',
    load: async () => (await import('./score/score-command.js')).scoreCommand(),
  },
  {
    name: 'calibrate',
    description: "Calibrate the guard's false alarm rate on a model's ordinary scores.",
    load: async () => (await import('./calibrate/calibrate.js')).calibrateCommand(),
  },
  {
    name: 'doctor',
    description:
      'Check what `flinch serve` needs: this machine, a model, its memory and speed, with a remedy for each problem.',
    load: async () => (await import('./doctor/doctor.js')).doctorCommand(),
  },
  {
    name: 'pull',
    description: 'Download a model from the Hugging Face hub, and try it.',
    load: async () => (await import('./pull/pull-command.js')).pullCommand(),
  },
  {
    name: 'export',
    description: 'Export a model for an inference server.',
    load: async () => (await import('./export.js')).exportCommand(),
  },
  {
    name: 'bench',
    description: 'Compare uncertainty methods on data sets, with your own model.',
    load: async (next) => (await benchPackage('bench')).benchCommand(next),
  },
  {
    name: 'data',
    description: "List and download the benchmark's data sets, which are not part of flinch.",
    load: async () => (await benchPackage('data')).dataCommand(),
  },
];

/** `flinch serve` */
const wordsOf = (command: Command): string =>
  command.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();

/** Puts the place of a model in the place of its name on the hub. Where nothing is opened, nothing is downloaded. */
async function bringModels(command: Command): Promise<void> {
  const { checkConfig } = command.opts();
  for (const option of command.options) {
    const name = option.attributeName();
    const model: unknown = command.getOptionValue(name);
    if (!(option instanceof ModelOption) || typeof model !== 'string' || checkConfig) continue;
    const { localModel } = await import('./local-model.js');
    command.setOptionValue(name, await localModel(model, `${wordsOf(command)} ${option.long}`));
  }
}

/** Exports of the package `flinch-bench`. */
interface BenchPackage {
  benchCommand(name?: string): Promise<Command>;
  dataCommand(): Command;
}

const BENCH_PACKAGE: string = 'flinch-bench';

/** @throws UsageError where the package is not installed */
const benchPackage = (command: string): Promise<BenchPackage> =>
  optionalPackage(`\`flinch ${command}\``, BENCH_PACKAGE, () => import(BENCH_PACKAGE));

/** Exit code for a command line that cannot be used, as other programs have it; errors have 1. */
const USAGE = 2;

/** Throws what commander ends with: the help that was asked for, or what is wrong with the words. */
function endWith(end: CommanderError): never {
  throw end.exitCode === 0 ? end : new CommanderError(USAGE, end.code, end.message);
}

function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const each of command.commands) inherit(each, command);
  return command;
}

/**
 * The command `flinch`, apart from the process that runs it; docs/reference/cli.md is generated from it.
 * @param words of the command line: only subcommands named there are loaded, the others are name and description.
 *   By default all are loaded.
 * @param own streams that its commands read and write; by default those of the process
 * @returns a command whose `parseAsync` throws CommanderError where commander would end the process
 */
export async function flinchProgram(
  version: string,
  words?: readonly string[],
  own: Streams = process,
): Promise<Command> {
  useStreams(own);
  const program = new Command('flinch')
    .description('Measures the uncertainty of a language model, token by token, while it writes.')
    .version(version)
    .showHelpAfterError('(see --help)')
    .configureOutput({ writeOut: (text) => say(fitted(text, own.stdout.columns || 80)), writeErr: note })
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .exitOverride(endWith)
    .addHelpText('after', '\nExit codes: 1 for an error, 2 for a command line that cannot be used.')
    .hook('preAction', (_, command) => bringModels(command));
  for (const { name, description, load } of SUBCOMMANDS) {
    const at = words?.indexOf(name) ?? 0;
    const command = at < 0 ? new Command(name) : await load(words?.[at + 1]);
    program.addCommand(inherit(command.description(description), program));
  }
  return program;
}
