import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Logger, pino } from 'pino';
import { Access, checkAccess } from './access/access.js';
import { createApp, createMetricsApp } from './app.js';
import { type ConfigInput, configSchema } from './config.js';
import { createHttpServer } from './http-server.js';
import { Lifecycle } from './lifecycle.js';
import { Metrics } from './metrics.js';
import type { Models } from './models.js';
import { servedWithin } from './served-within.js';
import { StreamServer } from './stream-server.js';
import { StreamConnection } from './stream-socket.js';

export interface GatewayOptions {
  /** Opened by the caller, and closed by it once the gateway is. */
  readonly models: Models;
  /** Parts of the configuration; what is left out has its default. Port 0 picks a free one. */
  readonly config?: Omit<ConfigInput, 'models'>;
  readonly logger?: Logger;
  /** Where faults of the models were counted, if any were. */
  readonly metrics?: Metrics;
  /** Where the configuration's variables with keys are. */
  readonly env?: NodeJS.ProcessEnv;
  /** In milliseconds; for what access counts by time. */
  readonly now?: () => number;
}

export interface Gateway {
  readonly url: string;
  /** Of `/metrics`. */
  readonly metricsUrl: string;
  readonly server: Server;
  /**
   * From now on `/readyz` says 503 and new work is refused; what is under way may finish.
   * @param seconds how long; by default `shutdown.drain_s`. What still runs then is told, and ends
   * @returns once nothing is under way
   */
  drain(seconds?: number): Promise<void>;
  /** Stops listening and ends what is under way at once. */
  close(): Promise<void>;
}

/**
 * Starts the gateway.
 * @throws ConfigError for a configuration that lets in everybody, or names a key that is not there
 * @throws Error when the address cannot be listened on
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const {
    metrics = new Metrics(),
    logger = pino({ level: 'silent' }),
    env = process.env,
    now = Date.now,
  } = options;
  const config = configSchema.parse(options.config ?? {});
  const { listen, limits, shutdown } = config;
  checkAccess(config, env);
  const access = new Access(config.access, { env, now });
  const lifecycle = new Lifecycle();
  const models = servedWithin(options.models, { limits, texts: config.log.texts ? logger : null });

  let connections = 0;
  const streams = new StreamServer({
    access,
    lifecycle,
    metrics,
    maxMessageBytes: limits.message_bytes,
    logger,
    connect: (socket, principal, log) => {
      new StreamConnection(socket, models, log);
    },
  });
  metrics.watch({
    generations: () => access.generations,
    connections: () => ({ http: connections, websocket: streams.connections }),
  });
  const serveMetrics = config.metrics.port === undefined;
  const app = createApp({ models, access, limits, lifecycle, metrics, serveMetrics, logger });
  const refused = metrics.refused.bind(metrics);
  const server = createHttpServer(limits, app, refused);
  server.on('connection', (connection) => {
    connections += 1;
    connection.once('close', () => {
      connections -= 1;
    });
  });
  streams.attach(server);

  await startListening(server, listen);
  const metricsServer = serveMetrics ? null : createHttpServer(limits, createMetricsApp({ metrics }));
  const close = async (): Promise<void> => {
    lifecycle.drain();
    const stopped = [server, ...(metricsServer ? [metricsServer] : [])].map(stop);
    await streams.close();
    await Promise.all(stopped);
  };
  try {
    if (metricsServer)
      await startListening(metricsServer, { ...config.metrics, port: config.metrics.port ?? 0 });
  } catch (error) {
    await close();
    throw error;
  }
  const url = urlOf(server, listen.host);
  const metricsUrl = `${metricsServer ? urlOf(metricsServer, config.metrics.host) : url}/metrics`;
  const drain = async (seconds = shutdown.drain_s): Promise<void> => {
    lifecycle.drain();
  };
  return { url, metricsUrl, server, drain, close };
}

async function startListening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Stops listening and ends every connection, whatever is under way on it; WebSockets are the caller's to end. */
async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

function urlOf(server: Server, host: string): string {
  const address: AddressInfo | string | null = server.address();
  const name = host.includes(':') ? `[${host}]` : host;
  return typeof address === 'object' && address ? `http://${name}:${address.port}` : name;
}
