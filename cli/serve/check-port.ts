import { once } from 'node:events';
import { createServer } from 'node:net';
import { UsageError } from '../../src/files/file-errors.js';

/** Each part of the configuration with a port, and its option. */
export const PORTS = [
  { part: 'listen', flag: '--port' },
  { part: 'metrics', flag: '--metrics-port' },
  { part: 'health', flag: '--health-port' },
] as const;

export const RUNNING = 'flinch answers there already';

/** A gateway has the port. */
export class RunningAlready extends UsageError {}

/**
 * Listens for a moment: what would fail after minutes of opening models fails now.
 * @throws RunningAlready, or an error of Node's, such as EADDRINUSE
 */
export async function checkPort(
  { port, host }: { readonly port?: number | undefined; readonly host: string },
  flag: string,
): Promise<void> {
  if (port === undefined || port === 0) return;
  const server = createServer();
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    // Loaded for this alone: it takes its time.
    const { isAlive } = await import('./is-alive.js');
    if (!isTaken || !(await isAlive(host, port))) throw error;
    const advice = `stop it, or choose another port with ${flag}`;
    throw new RunningAlready(`${host}:${port}: ${RUNNING}; ${advice}`, { cause: error });
  }
  server.close();
  await once(server, 'close');
}
