import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/**
 * A free port for a server that cannot report which port it was given for 0.
 * @param count number of consecutive ports that have to be free
 * @returns the first of them, below those that the operating system gives to connections and for port 0:
 * until the server listens, which can take seconds, no other process is given it
 */
export async function freePort(count = 1): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = randomInt(10_000, 30_000);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const listening = await Promise.all(ports.map(listen));
    await Promise.all(listening.map((server) => server && new Promise((closed) => server.close(closed))));
    if (listening.every((server) => server !== null)) return first;
  }
  throw new Error(`no ${count} consecutive ports are free`);
}

/** @returns `null` if the port is taken */
function listen(port: number): Promise<Server | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
