import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { declineUpgrade, isHandshake } from '../http/http-server.js';

/** @param path what follows the path that the handshakes are taken below, such as `/v1/stream` */
export type TakeHandshake = (
  request: IncomingMessage,
  connection: Duplex,
  head: Buffer,
  path: string,
) => void;

/** Handlers of each server by the paths that gateways have there. */
const takers = new WeakMap<Server, Map<string, TakeHandshake>>();

/**
 * Takes a server's handshakes of WebSockets below a path. However many gateways the server has, they have one
 * listener: so it can be detected whether the application listens for upgrades, too; it then handles all
 * other paths. If it does not, such requests are served without the upgrade: they would stay open for ever
 * otherwise.
 * @param path as Express has it: in capitals or not is the same
 * @returns ends it
 * @throws TypeError for a path that does not begin with `/`, and for one that is taken
 */
export function takeUpgrades(server: Server, path: string, take: TakeHandshake): () => void {
  if (!path.startsWith('/')) throw new TypeError(`path: ${path} does not begin with /`);
  const base = path.replace(/\/+$/, '').toLowerCase();
  const byBase = takers.get(server) ?? new Map<string, TakeHandshake>();
  if (byBase.has(base)) throw new TypeError(`path: a gateway is attached to ${path} of this server already`);
  byBase.set(base, take);
  if (byBase.size === 1) {
    takers.set(server, byBase);
    server.on('upgrade', dispatch);
  }
  return () => {
    if (byBase.get(base) === take) byBase.delete(base);
    if (byBase.size > 0) return;
    takers.delete(server);
    server.off('upgrade', dispatch);
  };
}

/** The listener of all servers. */
function dispatch(this: Server, request: IncomingMessage, connection: Duplex, head: Buffer): void {
  const byBase = takers.get(this) ?? new Map<string, TakeHandshake>();
  const pathname = pathnameOf(request);
  const base = [...byBase.keys()].filter((each) => isBelow(pathname, each)).sort(longestFirst)[0];
  const take = base === undefined ? undefined : byBase.get(base);
  if (base !== undefined && take && isHandshake(request)) {
    take(request, connection, head, pathname.slice(base.length));
  } else if (take || this.listenerCount('upgrade') === 1) {
    declineUpgrade(this, request, connection, head);
  }
}

/** All is below the root, also what is no path: it is told so. */
const isBelow = (pathname: string, base: string): boolean =>
  base === '' || `${pathname.toLowerCase()}/`.startsWith(`${base}/`);

const longestFirst = (a: string, b: string): number => b.length - a.length;

const pathnameOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';
