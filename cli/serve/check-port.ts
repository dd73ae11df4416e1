import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Listens for a moment: what would fail after minutes of opening models fails now.
 * @throws an error of Node's, such as EADDRINUSE
 */
export async function checkPort(port: number | undefined, host: string): Promise<void> {
  if (port === undefined || port === 0) return;
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
