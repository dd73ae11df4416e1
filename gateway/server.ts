import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { fieldName } from '../src/model/json.js';
import { Access, checkAccess } from './access/access.js';
import { isLoopback } from './access/addresses.js';
import { createApp, createMetricsApp } from './app.js';
import type { ConfigInput } from './config.js';
import type { ErrorCode } from './error-codes.js';
import { createHttpServer } from './http-server.js';
import { Lifecycle } from './lifecycle.js';
import { LiveGenerations } from './live-generations.js';
import { mergeConfig } from './load-config.js';
import { metered } from './metrics/metered.js';
import { Metrics } from './metrics/metrics.js';
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
  /** What is under way. */
  readonly live: LiveGenerations;
  /**
   * From now on `/readyz` says 503 and new work is refused; what is under way may finish.
   * @param seconds how long; by default `shutdown.drain_s`. What still runs then is told, and ends
   * @returns once nothing is under way
   */
  drain(seconds?: number): Promise<void>;
  /** Stops listening and ends what is under way at once. */
  close(): Promise<void>;
}

/** How long clients that do not read may take to hear the end. */
const GOODBYE_TIMEOUT_MS = 1000;

/**
 * Starts the gateway.
 * @throws ConfigError for a field that is refused, for what lets in everybody, and for a key that is not there
 * @throws Error when the address cannot be listened on
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const {
    metrics = new Metrics(),
    logger = pino({ level: 'silent' }),
    env = process.env,
    now = Date.now,
  } = options;
  const config = mergeConfig([{ values: options.config ?? {}, place: fieldName }]);
  const { listen, limits, shutdown } = config;
  checkAccess(config, env);
  const access = new Access(config.access, { env, now });
  const lifecycle = new Lifecycle();
  const within = servedWithin(options.models, { limits, texts: config.log.texts ? logger : null });
  const models = metered(within, metrics);

  const live = new LiveGenerations(config.streams, logger);

  const refused = (code: ErrorCode, model?: string): void => metrics.refused(code, model);

  const connections = new Set<Duplex>();
  const streams = new StreamServer({
    access,
    lifecycle,
    live,
    metrics,
    maxMessageBytes: limits.message_bytes,
    logger,
    connect: (socket, principal, log) => {
      new StreamConnection(socket, {
        models,
        live,
        principal,
        settings: config,
        logger: log,
        refused,
        resumed: (recovered) => metrics.resumed(recovered),
      });
    },
  });
  metrics.watch({
    models,
    generations: () => live.size,
    connections: () => ({ http: connections.size, websocket: streams.connections }),
  });
  const serveMetrics = config.metrics.port === undefined;
  const app = createApp({ models, live, access, settings: config, lifecycle, metrics, serveMetrics, logger });
  const server = createHttpServer(limits, app, refused);
  server.on('connection', (connection) => {
    // Some begin anew.
    if (connections.has(connection)) return;
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  streams.attach(server);

  await startListening(server, listen);
  // Who has it listen elsewhere lets others read it, by whatever name they have for this machine.
  const local = isLoopback(config.metrics.host);
  const checkName = local ? (headers: IncomingHttpHeaders) => access.checkName(headers) : null;
  const metricsServer = serveMetrics
    ? null
    : createHttpServer(limits, createMetricsApp({ metrics, checkName }));
  const servers = metricsServer ? [server, metricsServer] : [server];
  const close = async (): Promise<void> => {
    lifecycle.drain();
    const closed = servers.map(stopListening);
    await streams.close();
    await live.drain(0); // what was to be resumed
    for (const each of servers) each.closeAllConnections();
    await Promise.all(closed);
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
    await live.drain(1000 * seconds);
    // The last words are written, but not yet sent.
    const sent = Promise.all([stopListening(server), streams.close()]);
    await Promise.race([sent, setTimeout(GOODBYE_TIMEOUT_MS, null, { ref: false })]);
  };
  return { url, metricsUrl, server, live, drain, close };
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

/** No new connections, nor those that wait for a further request; what is under way on the others may end. */
async function stopListening(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function urlOf(server: Server, host: string): string {
  const address: AddressInfo | string | null = server.address();
  const name = host.includes(':') ? `[${host}]` : host;
  return typeof address === 'object' && address ? `http://${name}:${address.port}` : name;
}
