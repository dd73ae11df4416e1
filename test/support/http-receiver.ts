import { createServer, type RequestListener } from 'node:http';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** Has a server listen on this machine, at a free port if none is named. @returns its origin */
export async function originOf(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** A server of plain HTTP, until the test is over; with `afterAll`, all tests of the file. */
export async function httpReceiver(
  listener: RequestListener,
  atEnd: (end: () => void) => void = onTestFinished,
): Promise<string> {
  const server = createServer(listener);
  const origin = await originOf(server);
  atEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return origin;
}
