import { existsSync } from 'node:fs';
import { formatBytes, heading } from '#cli/format.js';
import { say } from '#cli/terminal.js';
import { PEER_NAMES, PEERS, type PeerName } from './catalogue.js';
import { diskUsage } from './disk-usage.js';
import { peersFolder } from './folder.js';
import { type Part, stampOf } from './part.js';
import { isRunning, type RunningServer, recorded } from './running.js';
import { answers } from './server.js';
import { describe, isSetUp } from './up.js';

/** `answers`: to a request. `silent`: the process runs. `ended`: it does not. */
type Health = 'answers' | 'silent' | 'ended';

interface Status {
  readonly folder: string;
  /** Size on the disk, caches included; equal files of several environments count once. */
  readonly bytes: number;
  readonly peers: readonly { readonly name: PeerName; readonly setUp: boolean; readonly bytes: number }[];
  readonly servers: readonly (Omit<RunningServer, 'start'> & { readonly health: Health })[];
}

/** `peers status` */
export async function printStatus({ json }: { readonly json?: boolean }): Promise<void> {
  const status = await statusOf(peersFolder());
  say(json ? `${JSON.stringify(status, null, 2)}\n` : format(status));
}

async function statusOf(root: string): Promise<Status> {
  const servers = recorded(root).map(async ({ start, ...server }) => ({
    ...server,
    health: await healthOf({ start, ...server }),
  }));
  return {
    folder: root,
    bytes: existsSync(root) ? await diskUsage(root) : 0,
    peers: PEER_NAMES.map((name) => ({ name, setUp: isSetUp(root, name), bytes: bytesOf(root, name) })),
    servers: await Promise.all(servers),
  };
}

async function healthOf(server: RunningServer): Promise<Health> {
  if (!isRunning(server)) return 'ended';
  return (await answers(server.url)) ? 'answers' : 'silent';
}

function bytesOf(root: string, name: PeerName): number {
  const parts: readonly Part[] = PEERS[name].parts;
  return parts.reduce((sum, part) => sum + (stampOf(root, part)?.bytes ?? 0), 0);
}

const HEALTH: Readonly<Record<Health, string>> = {
  answers: 'answers',
  silent: 'runs, but does not answer (yet)',
  ended: 'has ended',
};

function format({ folder, bytes, peers, servers }: Status): string {
  const there = peers.filter(({ setUp }) => setUp);
  const absent = peers.filter(({ setUp }) => !setUp);
  return [
    `${folder}: ${formatBytes(bytes)} on the disk`,
    ...there.map(({ name, bytes }) => `${heading(name)}  ${PEERS[name].purpose} (${formatBytes(bytes)})`),
    ...(absent.length > 0 ? ['', 'Not set up:', ...absent.map(({ name }) => describe(name, false))] : []),
    '',
    servers.length > 0 ? 'Servers:' : 'No server was started.',
    ...servers.map(
      ({ peer, model, url, pid, health, log }) =>
        `${heading(`${peer} ${model}`)}  ${url}, process ${pid}, ${HEALTH[health]}\n  log: ${log}`,
    ),
    '',
  ].join('\n');
}
