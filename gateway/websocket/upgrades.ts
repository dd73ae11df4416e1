import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { declineUpgrade, isHandshake } from '../http/http-server.js';

/** @param path what follows the path that the handshakes are taken below, such as `/v1/stream` */
type TakeHandshake = (request: IncomingMessage, connection: Duplex, head: Buffer, path: string) => void;

/**
 * Takes a server's handshakes of WebSockets below a path. If the application listens for upgrades, too, it handles all
 * other paths. If it does not, such requests are served without the upgrade: they would stay open for ever otherwise.
 * @param path as Express has it: in capitals or not is the same
 * @returns ends it
 * @throws TypeError for a path that does not begin with `/`
 */
export function takeUpgrades(server: Server, path: string, take: TakeHandshake): () => void {
  if (!path.startsWith('/')) throw new TypeError(`path: ${path} does not begin with /`);
  const base = path.replace(/\/+$/, '').toLowerCase();
  const listener = (request: IncomingMessage, connection: Duplex, head: Buffer): void => {
    const [pathname = ''] = (request.url ?? '').split('?', 1);
    // All is below the root, also what is no path: it is told so.
    const isBelow = base === '' || `${pathname.toLowerCase()}/`.startsWith(`${base}/`);
    if (isBelow && isHandshake(request)) take(request, connection, head, pathname.slice(base.length));
    else if (isBelow || server.listenerCount('upgrade') === 1)
      declineUpgrade(server, request, connection, head);
  };
  server.on('upgrade', listener);
  return () => server.off('upgrade', listener);
}
