import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../../gateway/config/gateway-config.js';
import { UsageError } from '../../src/files/file-errors.js';
import { FLAG_OF_FIELD } from './serve-config.js';

/** Parts of the configuration with a port. */
export const PORTS = ['listen', 'metrics', 'health'] as const;
export const portFlag = (part: (typeof PORTS)[number]): string => FLAG_OF_FIELD.get(`${part}.port`)!;

export const RUNNING = 'flinch answers there already';

/** A gateway has the port. */
export class RunningAlready extends UsageError {}

/**
 * Listens for a moment: what would fail after minutes of opening models fails now.
 * @throws RunningAlready, or an error of Node's, such as EADDRINUSE
 */
export async function checkPort(config: Config, part: (typeof PORTS)[number]): Promise<void> {
  const { host, port } = config[part];
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
    const advice = `stop it, or choose another port with ${portFlag(part)}`;
    throw new RunningAlready(`${host}:${port}: ${RUNNING}; ${advice}`, { cause: error });
  }
  server.close();
  await once(server, 'close');
}
