import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { fieldName } from '../src/files/json.js';
import { checkAccess } from './access/access.js';
import { isLoopback } from './access/addresses.js';
import { OwnUsage } from './access/usage.js';
import type { Config, ConfigInput } from './config/gateway-config.js';
import { mergeConfig } from './config/load-config.js';
import { CONNECTION_BOUNDS } from './connection-bounds.js';
import { assembleGateway, type GatewayParts, type MountedGateway, type Reloading } from './gateway.js';
import { createOpenApp, type HealthOptions } from './http/app.js';
import { type ConnectionLimits, placeConnections } from './http/connection-slots.js';
import { createHttpServer } from './http/http-server.js';
import { Metrics } from './metrics/metrics.js';
import { loadState } from './state/load-state.js';

export interface GatewayOptions extends GatewayParts {
  /** Parts of the configuration; absent parts have their defaults. Port 0 picks a free one. */
  readonly config?: Omit<ConfigInput, 'models' | 'workers'>;
}

export interface Gateway extends Pick<MountedGateway, 'live' | 'drain' | 'reload'> {
  readonly url: string;
  /** Address of `/metrics`. */
  readonly metricsUrl: string;
  /** Address of `/livez` and the other probes. */
  readonly healthUrl: string;
  readonly server: Server;
  /** Stops listening and ends work under way at once. */
  close(): Promise<void>;
}

/** How long clients that do not read may take to hear the end. */
const GOODBYE_TIMEOUT_MS = 1000;

/**
 * Starts the gateway on a server of its own.
 * @throws ConfigError for a field that is refused, for settings that admit every client, and for a key that is not set
 * @throws UsageError for `state` without the package flinch-redis
 * @throws Error when the address cannot be listened on
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { metrics = new Metrics(), env = process.env } = options;
  const config = mergeConfig([{ values: options.config ?? {}, location: fieldName }]);
  const { listen, limits } = config;
  checkAccess(config, env);
  const serveMetrics = config.metrics.port === undefined;
  const parts = { ...(await loadState(config)), ...options, metrics, env };
  const mounted = assembleGateway(config, parts, { serveMetrics });
  const { app, attach, access, health, live } = mounted;

  const bounds = { ...CONNECTION_BOUNDS, ...options.bounds };
  const stallMs = 1000 * config.streams.stall_s;
  const server = createHttpServer(bounds, stallMs, app, (code) => metrics.refused(code));
  attach(server);
  const { metrics: metricsAt, health: healthAt } = config;
  const openServer = (host: string, health: HealthOptions | null): Server => {
    // An operator that has it listen elsewhere lets others read it, by any name of this machine.
    const checkName = isLoopback(host)
      ? (headers: IncomingHttpHeaders) => access.checkHostName(headers)
      : null;
    return createHttpServer(bounds, stallMs, createOpenApp(metrics, checkName, health));
  };
  const metricsServer = serveMetrics ? null : openServer(metricsAt.host, null);
  const healthServer = healthAt.port === undefined ? null : openServer(healthAt.host, health);
  const servers = [server, metricsServer, healthServer].filter((each) => each !== null);
  const usage = options.commons?.usage ?? new OwnUsage();
  for (const [i, each] of servers.entries()) {
    placeConnections(each, connectionLimits(limits), usage, `connections:${i}`);
  }
  const close = async (): Promise<void> => {
    const closed = servers.map(stopListening);
    await mounted.close();
    for (const each of servers) each.closeAllConnections();
    await Promise.all(closed);
  };
  try {
    await startListening(server, listen);
    if (metricsServer) await startListening(metricsServer, { ...metricsAt, port: metricsAt.port ?? 0 });
    if (healthServer) await startListening(healthServer, { ...healthAt, port: healthAt.port ?? 0 });
  } catch (error) {
    await close();
    throw error;
  }
  const url = urlOf(server, listen.host);
  const metricsUrl = `${metricsServer ? urlOf(metricsServer, metricsAt.host) : url}/metrics`;
  const healthUrl = healthServer ? urlOf(healthServer, healthAt.host) : url;
  const drain = async (seconds?: number): Promise<void> => {
    await mounted.drain(seconds);
    // The last words are written, but not yet sent.
    await Promise.race([stopListening(server), setTimeout(GOODBYE_TIMEOUT_MS, null, { ref: false })]);
  };
  const reload = (changed: Reloading): void => {
    checkAccess({ listen, access: changed.access }, env);
    mounted.reload(changed);
  };
  return { url, metricsUrl, healthUrl, server, live, reload, drain, close };
}

/** Limits that leave some connections for other clients, however many one has. */
const connectionLimits = ({
  connections,
  connections_per_address: perAddress = Math.ceil((7 / 8) * connections),
}: Config['limits']): ConnectionLimits => ({ connections, perAddress });

async function startListening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Refuses new connections, and closes idle ones; requests under way on the others may end. */
async function stopListening(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function urlOf(server: Server, host: string): string {
  const address: AddressInfo | string | null = server.address();
  const name = host.includes(':') ? `[${host}]` : host;
  return typeof address === 'object' && address ? `http://${name}:${address.port}` : name;
}
