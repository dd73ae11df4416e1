import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Speed for large writes, which only count as read when they are complete: they have this much longer. */
const MIN_BYTES_PER_MS = 64;
const MAX_CHECK_MS = 1000;

/** Closes connections whose client reads nothing of a response for so long, whatever the response is. */
export function closeUnread(server: Server, stallMs: number): void {
  const connections = new Map<Socket, { read: number; since: number }>();
  server.on('connection', (connection: Socket) => {
    connections.set(connection, { read: 0, since: performance.now() });
    connection.once('close', () => connections.delete(connection));
  });
  const check = (): void => {
    const now = performance.now();
    for (const [connection, last] of connections) {
      const waiting = connection.writableLength;
      const read = connection.bytesWritten - waiting;
      if (waiting === 0 || read !== last.read) Object.assign(last, { read, since: now });
      else if (now - last.since > stallMs + waiting / MIN_BYTES_PER_MS) connection.destroy();
    }
  };
  server.on('listening', () => {
    const timer = setInterval(check, Math.min(MAX_CHECK_MS, stallMs / 4)).unref();
    server.once('close', () => clearInterval(timer));
  });
}
