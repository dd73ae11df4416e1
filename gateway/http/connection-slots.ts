import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../access/addresses.js';
import type { Release, Usage } from '../access/usage.js';

export interface ConnectionLimits {
  readonly connections: number;
  /** Limit for the network that an address stands for. */
  readonly perAddress: number;
}

interface Open {
  readonly network: string;
  /** Requests under way, or what has become of one that was upgraded. */
  busy: number;
  /** When it was last busy. */
  since: number;
}

/**
 * Gives each connection of a server a slot, and closes it at once if there is none. If all are taken, a new
 * connection gets the slot of one without requests under way: of the address that has most, the one unused
 * for longest. Connections alone thus cannot lock out other clients, and behind a proxy, which has but one
 * address, nothing in use is closed.
 * @param name of the server's slots; other processes may count theirs by the same
 */
export function placeConnections(server: Server, limits: ConnectionLimits, usage: Usage, name: string): void {
  const connections = new Map<Socket, Open>();
  const used = (socket: Socket): void => {
    const open = connections.get(socket);
    if (open) open.busy += 1;
  };
  const unused = (socket: Socket): void => {
    const open = connections.get(socket);
    if (open) Object.assign(open, { busy: open.busy - 1, since: performance.now() });
  };
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    used(socket);
    response.once('close', () => unused(socket));
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => used(socket));
  server.on('connection', async (socket: Socket) => {
    // Some begin anew.
    if (connections.has(socket)) return;
    const network = networkOf(socket.remoteAddress);
    connections.set(socket, { network, busy: 0, since: performance.now() });
    const releases: Release[] = [];
    socket.once('close', () => {
      connections.delete(socket);
      for (const release of releases) release();
    });
    const take = async (
      pool: string,
      most: number,
      insteadOf: () => Socket | undefined,
    ): Promise<boolean> => {
      let release = await usage.take(pool, most);
      const other = release ? undefined : insteadOf();
      if (other) {
        const closed = once(other, 'close');
        other.destroy();
        await closed;
        release = await usage.take(pool, most);
      }
      if (release && socket.destroyed) release();
      else if (release) releases.push(release);
      return release !== null;
    };
    const placed =
      (await take(`${name}:${network}`, limits.perAddress, () => unusedOf(connections, [network], socket))) &&
      (await take(name, limits.connections, () =>
        unusedOf(connections, largest(connections, network), socket),
      ));
    if (!placed) socket.destroy();
  });
}

/** The connection unused for longest, of the first of these networks that has an unused one. */
function unusedOf(
  connections: ReadonlyMap<Socket, Open>,
  networks: readonly string[],
  newcomer: Socket,
): Socket | undefined {
  const unused = [...connections]
    .filter(([socket, { busy }]) => busy === 0 && socket !== newcomer && !socket.destroyed)
    .sort(([, a], [, b]) => a.since - b.since);
  for (const network of networks) {
    const found = unused.find(([, open]) => open.network === network);
    if (found) return found[0];
  }
  return undefined;
}

/** The networks that have no fewer connections than this one, those with most first. */
function largest(connections: ReadonlyMap<Socket, Open>, newcomer: string): string[] {
  const counts = new Map<string, number>();
  for (const { network } of connections.values()) counts.set(network, (counts.get(network) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count >= (counts.get(newcomer) ?? 0))
    .sort(([, a], [, b]) => b - a)
    .map(([network]) => network);
}
