import { Command } from 'commander';

type Load = () => Promise<Command>;

/** The commands by name. A command's modules are loaded when it is needed. */
const COMMANDS: Readonly<Record<string, Load>> = {
  run: async () => (await import('./run/run-command.js')).runCommand(),
  report: async () => (await import('./review/report-command.js')).reportCommand(),
  calibrate: async () => (await import('./calibrate/calibrate-command.js')).calibrateCommand(),
  export: async () => (await import('./export/export-command.js')).exportCommand(),
  escalate: async () => (await import('./escalate/escalate-command.js')).escalateCommand(),
  vote: async () => (await import('./vote/vote-command.js')).voteCommand(),
};

/**
 * `flinch bench`: what the methods are worth on a model.
 * @param name of the only command that is needed; all are loaded where it is none of them
 */
export async function benchCommand(name?: string): Promise<Command> {
  const bench = new Command('bench');
  const known = name !== undefined && name in COMMANDS;
  for (const [each, load] of Object.entries(COMMANDS))
    if (!known || each === name) bench.addCommand(await load());
  return bench.addHelpText(
    'after',
    '\nSpeed, memory and the gateway are measured in a clone of the repository: npm run lab',
  );
}
