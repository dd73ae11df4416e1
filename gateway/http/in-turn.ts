import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests of a connection that may wait for those before them. */
export const MAX_WAITING = 16;

/** The responses of each connection that are not over, in order, with what serves those that wait. */
const openResponses = new WeakMap<Duplex, Map<ServerResponse, () => void>>();

/**
 * Serves the requests of a connection one after the other, as HTTP/1.1 answers them: Node passes on all of a pipeline at
 * once. A connection with too many is closed. Within itself it serves at once.
 */
export function inTurn({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
  const open = openResponses.get(socket) ?? watch(socket);
  if (open.has(response)) {
    serve();
    return;
  }
  // Requests may have been read together with the last one that is answered.
  if (socket.destroyed) return;
  if (open.size > MAX_WAITING) {
    socket.destroy();
    return;
  }
  open.set(response, serve);
  response.once('close', () => {
    open.delete(response);
    const [next] = open.values();
    // After `Connection: close` nothing more is answered.
    if (socket.writable) next?.();
  });
  if (open.size === 1) serve();
}

/**
 * Watches a connection. On a server of another application, a response may wait behind one that is not ours:
 * then it emits no `close`.
 */
function watch(connection: Duplex): Map<ServerResponse, () => void> {
  const open = new Map<ServerResponse, () => void>();
  openResponses.set(connection, open);
  connection.once('close', () => {
    for (const response of open.keys()) {
      if (response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit('close');
    }
  });
  return open;
}

/** Whether a part of a response has been sent that is not over. */
export const hasBegun = (connection: Duplex): boolean =>
  [...(openResponses.get(connection)?.keys() ?? [])].some(({ headersSent }) => headersSent);
