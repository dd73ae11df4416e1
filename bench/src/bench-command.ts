import { Command } from 'commander';

type Load = () => Promise<Command>;

/** The commands of each group by name. A command's modules are loaded when it is needed. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Evaluation:': {
    plan: async () => (await import('./run/plan/plan-command.js')).planCommand(),
    run: async () => (await import('./run/run-command.js')).runCommand(),
    status: async () => (await import('./run/status-command.js')).statusCommand(),
    merge: async () => (await import('./run/merge-command.js')).mergeCommand(),
    report: async () => (await import('./report/report-command.js')).reportCommand(),
    judge: async () => (await import('./run/judge-command.js')).judgeCommand(),
    correct: async () => (await import('./correct/correct-command.js')).correctCommand(),
    verdict: async () => (await import('./verdict/verdict-command.js')).verdictCommand(),
    detection: async () => (await import('./detection/detection-command.js')).detectionCommand(),
    schedules: async () => (await import('./schedules/schedules-command.js')).schedulesCommand(),
    agreement: async () => (await import('./agreement/agreement-command.js')).agreementCommand(),
    pretrained: async () => (await import('./pretrained/pretrained-command.js')).pretrainedCommand(),
  },
  'Speed and memory:': {
    speed: async () => (await import('./speed/speed-command.js')).speedCommand(),
    checkpoint: async () => (await import('./speed/checkpoint-command.js')).checkpointCommand(),
    'peers-speed': async () => (await import('./speed/peers-speed-command.js')).peersSpeedCommand(),
    models: async () => (await import('./models/models-command.js')).modelsCommand(),
    soak: async () => (await import('./soak/soak-command.js')).soakCommand(),
    gateway: async () => (await import('./gateway/gateway-command.js')).gatewayCommand(),
  },
  'Peers:': {
    peers: async () => (await import('./peers/peers-command.js')).peersCommand(),
  },
};

/**
 * `flinch bench`: what the methods and the guard are worth, and what they cost.
 * @param name of the only command that is needed; all are loaded where it is none of them
 */
export async function benchCommand(name?: string): Promise<Command> {
  const bench = new Command('bench');
  const known = Object.values(GROUPS).some((commands) => name !== undefined && name in commands);
  for (const [group, commands] of Object.entries(GROUPS)) {
    bench.commandsGroup(group);
    for (const [each, load] of Object.entries(commands)) {
      if (!known || each === name) bench.addCommand(await load());
    }
  }
  return bench;
}
