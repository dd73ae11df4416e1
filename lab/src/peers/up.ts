import { mkdirSync, readdirSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFolder } from '#bench/run/folder-lock.js';
import { interruptible } from '#bench/run/interrupt.js';
import { reportError } from '#cli/errors.js';
import { formatBytes, heading } from '#cli/format.js';
import { remark, say } from '#cli/terminal.js';
import { PEERS, type Peer, type PeerName } from './catalogue.js';
import { explained } from './explained.js';
import { peersFolder } from './folder.js';
import { type Part, stampOf } from './part.js';
import { PartsMaker, UNFINISHED } from './parts-maker.js';
import { SetUpView } from './set-up-view.js';
import { startAll } from './start-servers.js';

export interface UpOptions {
  /** Whether servers are started, too. */
  readonly start: boolean;
  readonly basePort: number;
}

/** `peers up`: sets peers up and starts their servers. What fails does not keep the others from it. */
export async function up(names: readonly PeerName[], { start, basePort }: UpOptions): Promise<void> {
  const root = peersFolder();
  mkdirSync(root, { recursive: true });
  await interruptible('what is whole is kept, and the same command continues', async (interrupt) => {
    const release = await lockFolder(root, (error) => interrupt.abort(error), 'peers');
    try {
      await removeUnfinished(root);
      await announce(names, root);
      const failed = new Set<PeerName>();
      await setUp(names, new PartsMaker(root, new SetUpView(), interrupt.signal), failed);
      if (start) await startAll(names, { root, basePort, signal: interrupt.signal, failed });
      if (failed.size > 0) {
        process.exitCode = 1;
        const others = names.filter((name) => !failed.has(name));
        remark(
          `failed: ${[...failed].join(', ')}${others.length > 0 ? `; ready: ${others.join(', ')}` : ''}. What is whole is kept: the same command continues.`,
        );
      }
    } finally {
      await release();
    }
  });
}

/** Removes parts that killed runs were making. */
async function removeUnfinished(root: string): Promise<void> {
  for (const name of readdirSync(root)) {
    if (name.startsWith(UNFINISHED)) await rm(join(root, name), { recursive: true, force: true });
  }
}

/** Licence and size of each peer, before anything is fetched. */
async function announce(names: readonly PeerName[], root: string): Promise<void> {
  const { bavail, bsize } = await statfs(root);
  say(`Peers are set up in ${root} (${formatBytes(bavail * bsize)} free).\n`);
  for (const name of names) say(`${describe(name, isSetUp(root, name))}\n`);
  const missing: Peer[] = names.filter((name) => !isSetUp(root, name)).map((name) => PEERS[name]);
  if (missing.some(({ torch }) => torch)) {
    say(
      "PyPI's torch brings its libraries for CUDA along, also where there is no GPU. Environments share them on the disk.\n",
    );
  }
  const needed = Math.max(0, ...missing.map(({ disk }) => disk));
  if (needed > bavail * bsize) {
    remark(`warning: about ${formatBytes(needed)} are needed and ${formatBytes(bavail * bsize)} are free`);
  }
}

export function describe(name: PeerName, there: boolean): string {
  const { purpose, licence, download, disk, torch, notes = [] }: Peer = PEERS[name];
  const shared = torch ? `, of that ${formatBytes(torch.disk)} torch with its libraries` : '';
  const size = `${formatBytes(download)} to download, ${formatBytes(disk)} on the disk${shared}`;
  return [
    `${heading(name)}  ${purpose}${there ? ' (set up)' : ''}`,
    `  licence: ${licence}`,
    ...(there ? [] : [`  at most ${size}`]),
    ...notes.map((note) => `  ${note}`),
  ].join('\n');
}

/** Whether a peer is set up, in any version. */
export const isSetUp = (root: string, name: PeerName): boolean => {
  const parts: readonly Part[] = PEERS[name].parts;
  return parts.every((part) => stampOf(root, part) !== null);
};

async function setUp(names: readonly PeerName[], workshop: PartsMaker, failed: Set<PeerName>): Promise<void> {
  for (const name of names) {
    try {
      for (const part of PEERS[name].parts) await workshop.provide(part);
      say(`${name}: ready\n`);
    } catch (error) {
      workshop.signal.throwIfAborted();
      reportError(explained(name, error));
      failed.add(name);
    } finally {
      workshop.view.stop();
    }
  }
}
