import { Command } from 'commander';
import { note, say } from '#cli/terminal.js';

type Load = () => Promise<Command>;

/** The programs of each group by name. A program's modules are loaded when it is needed. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'What scores and the guard are worth:': {
    evidence: async () => (await import('./evidence/evidence-command.js')).evidenceCommand(),
  },
  'Speed and memory:': {
    speed: async () => (await import('./speed/speed-command.js')).speedCommand(),
    'peers-speed': async () => (await import('./speed/peers-speed-command.js')).peersSpeedCommand(),
    soak: async () => (await import('./soak/soak-command.js')).soakCommand(),
    gateway: async () => (await import('./gateway/gateway-command.js')).gatewayCommand(),
  },
  'Peers:': {
    peers: async () => (await import('./peers/peers-command.js')).peersCommand(),
  },
};

/**
 * The studies behind docs/results, and the peers that flinch is compared with: programs of this repository, which are
 * in no package.
 * @param name of the only program that is needed; all are loaded where it is none of them
 */
export async function labProgram(name?: string): Promise<Command> {
  const lab = new Command('npm run lab --')
    .description('The studies behind docs/results, and the peers that flinch is compared with.')
    .showHelpAfterError('(see --help)')
    .configureOutput({ writeOut: say, writeErr: note });
  const known = Object.values(GROUPS).some((programs) => name !== undefined && name in programs);
  for (const [group, programs] of Object.entries(GROUPS)) {
    lab.commandsGroup(group);
    for (const [each, load] of Object.entries(programs))
      if (!known || each === name) lab.addCommand((await load()).copyInheritedSettings(lab));
  }
  return lab;
}
