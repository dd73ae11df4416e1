import { mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { interruptible } from '#bench/run/interrupt.js';
import { lockFolder } from '#bench/run/run-lock.js';
import { reportError } from '#cli/exit-errors.js';
import { integer } from '#cli/options.js';
import { remark, say } from '#cli/terminal.js';
import { formatBytes, heading } from '#cli/terminal-format.js';
import { reasonOf, UsageError } from '#src/files/file-errors.js';
import { PartsMaker, UNFINISHED } from './parts-maker.js';
import { PEER_NAMES, PEERS, type Peer, type PeerName } from './peer-catalogue.js';
import { versionOf } from './peer-part.js';
import { GGUF, type GgufModel, peersFolder } from './peers-folder.js';
import { DISK_FULL } from './run-program.js';
import { type PeerServerName, SERVERS, startPeer } from './server.js';

/** `npm run lab -- peers` */
export function peersCommand(): Command {
  return new Command('peers')
    .description('Set up and start real servers and pretrained models to test and compare flinch with.')
    .addCommand(upCommand())
    .addCommand(serveCommand());
}

const upCommand = (): Command =>
  new Command('up')
    .description('Set peers up. An interrupted set-up continues with the same command.')
    .addArgument(new Argument('<names...>', 'peers').choices(PEER_NAMES))
    .addHelpText(
      'after',
      `
Everything is put into $FLINCH_PEERS, by default ~/.cache/flinch/peers.

Example:
  $ npm run lab -- peers up llama-cpp smollm2`,
    )
    .action(up);

const serveCommand = (): Command =>
  new Command('serve')
    .description('Start a server that is set up with a model on 127.0.0.1, until this command is ended.')
    .addArgument(new Argument('<server>').choices(SERVERS))
    .addArgument(new Argument('<model>').choices(Object.keys(GGUF)))
    .option('--port <number>', 'port to listen on', integer(1024, 65_535), 8400)
    .addHelpText('after', '\nExample:\n  $ npm run lab -- peers serve llama-cpp smollm2 --port 8412')
    .action(serve);

/** What fails does not keep the others from it. */
async function up(names: readonly PeerName[]): Promise<void> {
  const root = peersFolder();
  mkdirSync(root, { recursive: true });
  await interruptible('what is whole is kept, and the same command continues', async (interrupt) => {
    const release = await lockFolder(root, (error) => interrupt.abort(error), 'peers');
    try {
      // Parts that killed runs were making.
      for (const name of readdirSync(root))
        if (name.startsWith(UNFINISHED)) await rm(join(root, name), { recursive: true, force: true });
      say(`Peers are set up in ${root}.\n`);
      for (const name of names) say(`${describe(root, name)}\n`);
      const workshop = new PartsMaker(root, interrupt.signal);
      const failed: PeerName[] = [];
      for (const name of names) if (!(await isMade(name, workshop))) failed.push(name);
      if (failed.length === 0) return;
      process.exitCode = 1;
      remark(`failed: ${failed.join(', ')}. What is whole is kept: the same command continues.`);
    } finally {
      await release();
    }
  });
}

/** Licence and size, before anything is fetched. */
function describe(root: string, name: PeerName): string {
  const { licence, download, disk, parts }: Peer = PEERS[name];
  const isThere = parts.every((part) => versionOf(root, part) !== null);
  const size = `at most ${formatBytes(download)} to download, ${formatBytes(disk)} on the disk`;
  return `${heading(name)}  licence: ${licence}; ${isThere ? 'set up' : size}`;
}

async function isMade(name: PeerName, workshop: PartsMaker): Promise<boolean> {
  try {
    for (const part of PEERS[name].parts) await workshop.provide(part);
    say(`${name}: ready\n`);
    return true;
  } catch (error) {
    workshop.signal.throwIfAborted();
    const isFull = /ENOSPC|EDQUOT/.test(reasonOf(error));
    reportError(
      new UsageError(`${name}: ${reasonOf(error)}${isFull ? ` ${DISK_FULL}` : ''}`, { cause: error }),
    );
    return false;
  }
}

async function serve(server: PeerServerName, model: GgufModel, { port }: { port: number }): Promise<void> {
  const log = join(peersFolder(), `${server}-${model}.log`);
  const { url, signal, close } = await startPeer(server, { model, port, log, timeout: 600_000 });
  process.once('exit', () => signal('SIGKILL'));
  say(`${server} serves ${model} at ${url} (log: ${log})\n`);
  await new Promise<void>((ended) => {
    for (const kind of ['SIGINT', 'SIGTERM'] as const) process.once(kind, () => ended());
  });
  await close();
}
