import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A free port for a server that cannot report which port it was given for 0.
 * @returns one below those that the operating system gives to connections and for port 0: until the server listens,
 * which can take seconds, no other process is given it
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
