import { Command, InvalidArgumentError } from 'commander';
import { integer } from '#cli/options.js';
import { PEER_NAMES, PEERS, type PeerName } from './catalogue.js';
import { down } from './down.js';
import { BASE_PORT, LAST_OFFSET, SERVER_NAMES } from './start-servers.js';
import { printStatus } from './status.js';
import { up } from './up.js';

/** `npm run lab -- peers`, . */
export function peersCommand(): Command {
  return new Command('peers')
    .description('Set up real servers, pretrained models and other programs to test and compare flinch with.')
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(statusCommand());
}

const upCommand = (): Command =>
  new Command('up')
    .description(
      'Set peers up, and start the servers among them on 127.0.0.1 with each model that is set up.',
    )
    .argument('<names...>', PEER_NAMES.join(', '), collectPeers)
    .option('--no-start', 'set up only')
    .option(
      '--base-port <number>',
      'port of litellm; the others are counted from it: vllm +1 (reasoner), +2 (smollm2); llama-cpp +11 (reasoner), +12 (smollm2), +13 (gemma3)',
      integer(1024, 65_535 - LAST_OFFSET),
      BASE_PORT,
    )
    .addHelpText(
      'after',
      `
Peers:
${PEER_NAMES.map((name) => `  ${name.padEnd(13)} ${PEERS[name].purpose}`).join('\n')}

Everything is put into $FLINCH_PEERS, by default ~/.cache/flinch/peers. An interrupted set-up continues with the same command.

Examples:
  $ npm run lab -- peers up vllm llama-cpp smollm2
  $ npm run lab -- peers up llama-cpp smollm2 --no-start`,
    )
    .action((names: readonly PeerName[], options: { start: boolean; basePort: number }) =>
      up(names, options),
    );

const downCommand = (): Command =>
  new Command('down')
    .description('End servers; by default all.')
    .argument('[names...]', SERVER_NAMES.join(', '), collectServers)
    .addHelpText(
      'after',
      `
Examples:
  $ npm run lab -- peers down
  $ npm run lab -- peers down vllm`,
    )
    .action((names: readonly string[]) => down(names));

const statusCommand = (): Command =>
  new Command('status')
    .description('Show what is set up, its size, and the servers that were started.')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- peers status')
    .action(printStatus);

function collectPeers(text: string, before: readonly PeerName[] = []): PeerName[] {
  const name = PEER_NAMES.find((known) => known === text);
  if (!name) throw new InvalidArgumentError(`Must be one of ${PEER_NAMES.join(', ')}.`);
  return [...before.filter((other) => other !== name), name];
}

function collectServers(text: string, before: readonly string[] = []): string[] {
  if (!SERVER_NAMES.some((name) => name === text))
    throw new InvalidArgumentError(`Must be one of ${SERVER_NAMES.join(', ')}.`);
  return [...before, text];
}
