import { once } from 'node:events';
import { createServer } from 'node:net';
import { UsageError } from '../../src/files/file-errors.js';

export const RUNNING = 'flinch answers there already';

/** A gateway has the port. */
export class RunningAlready extends UsageError {}

/**
 * Listens for a moment: what would fail after minutes of opening models fails now.
 * @throws RunningAlready, or an error of Node's, such as EADDRINUSE
 */
export async function checkPort(port: number | undefined, host: string): Promise<void> {
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
    const advice = 'stop it, or choose another port with --port';
    throw new RunningAlready(`${host}:${port}: ${RUNNING}; ${advice}`, { cause: error });
  }
  server.close();
  await once(server, 'close');
}
