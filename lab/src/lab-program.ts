import { Command } from 'commander';
import { note, say } from '#cli/terminal.js';

/** The programs by name. A program's modules are loaded when it is needed. */
const PROGRAMS: Readonly<Record<string, () => Promise<Command>>> = {
  evidence: async () => (await import('./evidence/evidence-command.js')).evidenceCommand(),
  speed: async () => (await import('./speed/speed-command.js')).speedCommand(),
  'peers-speed': async () => (await import('./speed/peers-speed-command.js')).peersSpeedCommand(),
  gateway: async () => (await import('./gateway/gateway-command.js')).gatewayCommand(),
  pictures: async () => (await import('./pictures/pictures-command.js')).picturesCommand(),
  peers: async () => (await import('./peers/peers-command.js')).peersCommand(),
};

/**
 * The programs behind the numbers of docs/results, and the peers that flinch is compared with. They are in no package.
 * @param name of the only program that is needed; all are loaded where it is none of them
 */
export async function labProgram(name = ''): Promise<Command> {
  const lab = new Command('npm run lab --')
    .description(
      'The programs behind the numbers of docs/results, and the peers that flinch is compared with.',
    )
    .showHelpAfterError('(see --help)')
    .configureOutput({ writeOut: say, writeErr: note });
  const chosen = Object.entries(PROGRAMS).filter(([each]) => each === name || !(name in PROGRAMS));
  for (const [, load] of chosen) lab.addCommand((await load()).copyInheritedSettings(lab));
  return lab;
}
