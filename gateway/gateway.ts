import type { RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Logger, pino } from 'pino';
import { fieldName } from '../src/files/json.js';
import { Budget } from '../src/risk/budget.js';
import { Access, checkMounted, type SharedAccess } from './access/access.js';
import { OwnUsage } from './access/usage.js';
import type { Answering } from './answers/answering.js';
import { KeptAnswers } from './answers/kept-answers.js';
import { loggedTexts } from './answers/logged-texts.js';
import type { Models } from './answers/models.js';
import { PerClient } from './answers/per-client.js';
import { ConfigError } from './config/config-error.js';
import type { Config, ConfigInput } from './config/gateway-config.js';
import { mergeConfig } from './config/load-config.js';
import { CONNECTION_BOUNDS, type ConnectionBounds } from './connection-bounds.js';
import { toApiError } from './errors/api-error.js';
import { OWN_FAULTS } from './errors/codes.js';
import type { Elsewhere } from './generations/elsewhere.js';
import { Lifecycle } from './generations/lifecycle.js';
import { LiveGenerations } from './generations/live-generations.js';
import { createApp, type HealthOptions, type WorkersHealth } from './http/app.js';
import { LogWriter } from './log-writer.js';
import { metered } from './metrics/metered-answers.js';
import type { MetricsSnapshot } from './metrics/metric-families.js';
import { Metrics } from './metrics/metrics.js';
import type { IdleCalibrations } from './models/idle-calibrations.js';
import { Policies, type PolicySources } from './policy/policies.js';
import type { OpenState, State } from './state/state.js';
import { traceGenerations } from './tracing/generation-span.js';
import { openWebhooks, type Webhooks, type WebhooksOptions } from './webhooks/webhooks.js';
import { StreamServer } from './websocket/handshakes.js';

/** Refused messages of the largest size that a client may send in a minute: each was read. */
const REFUSED_MESSAGES = 16;

/** Opens no state: an application passes the function of flinch-redis. */
const withoutPackage: OpenState = () => {
  throw new ConfigError('state', 'needs `openState` of the package flinch-redis beside the configuration');
};

/** Time that webhooks have for their last messages. */
const LAST_MESSAGES_MS = 3000;

export interface GatewayParts {
  /** Opened by the caller, and closed by it once the gateway is. */
  readonly models: Models;
  /** Logger; by default faults of the gateway's own are written to standard error. */
  readonly logger?: Logger;
  /** Metrics in which faults of the models were counted, if any were. */
  readonly metrics?: Metrics;
  /** Environment with the configuration's variables for keys. */
  readonly env?: NodeJS.ProcessEnv;
  /** Clock, in milliseconds, for limits and tickets of access. */
  readonly now?: () => number;
  /**
   * Policies of the guard, in place of those of `config`, which has none for models. They are of a whole
   * configuration.
   */
  readonly policies?: PolicySources;
  /** `openState` of the package flinch-redis, for a configuration with `state`; `startGateway` loads it itself. */
  readonly openState?: OpenState;
  /** State shared with the other workers of its port (gateway/workers); by default it is alone. */
  readonly commons?: Commons;
  /** Calibrations that clients may start; by default there are none. */
  readonly calibrations?: IdleCalibrations | undefined;
  /** For tests. */
  readonly bounds?: Partial<ConnectionBounds>;
}

/** State that the workers of one port share, so that limits, tickets, resuming, metrics and health are of all. */
export interface Commons extends SharedAccess {
  /** How many they are. */
  readonly workers: number;
  readonly elsewhere: Elsewhere;
  /** Counts of each of them. */
  readonly collect: () => Promise<readonly MetricsSnapshot[]>;
  readonly health: () => Promise<WorkersHealth>;
}

export interface MountedGatewayOptions extends GatewayParts {
  /** Parts of the configuration; absent parts have their defaults. The host application listens. */
  readonly config: Omit<ConfigInput, 'models' | 'listen' | 'metrics' | 'health' | 'workers'>;
}

/** The parts of a whole configuration that can change while a gateway runs. */
export interface Reloading extends PolicySources {
  readonly access: Config['access'];
}

/** A gateway without a listener. */
export interface MountedGateway {
  /** Application to mount under any path of an Express application: `host.use('/ai', gateway.app)`. */
  readonly app: RequestListener;
  /**
   * Takes a server's WebSockets at `PATH/v1/stream`, and counts its connections from then on, until the gateway closes.
   * Other upgrades are left to the host application; if nothing else listens for upgrades, such a request is served as
   * if it had not asked for one. A server has one gateway.
   * @param path under which `app` is mounted, such as `/ai`; by default the root, where all upgrades are the gateway's
   * @throws TypeError for a path that is none
   */
  attach(server: Server, path?: string): void;
  /** Generations under way. */
  readonly live: LiveGenerations;
  /** Metrics that `app` serves at `/metrics`, for a host application with a place of its own for them. */
  readonly metrics: Metrics;
  /**
   * New requests have the policies and the `access` of another configuration, all at once. Running
   * generations keep theirs, and end as they would have; those of removed keys cannot be resumed.
   * @throws ConfigError for a key that cannot be read, and for settings that admit every client; then nothing has changed
   */
  reload(changed: Reloading): void;
  /**
   * Drains the gateway: `/readyz` returns 503 and new work is refused; work under way may finish. Then WebSockets are
   * closed.
   * @param seconds time limit, `Infinity` for none; by default `shutdown.drain_s`. Work that still runs then is told,
   *   and ends
   * @returns once nothing is under way
   * @throws RangeError for a time that is none
   */
  drain(seconds?: number): Promise<void>;
  /**
   * Ends work under way at once, says goodbye on WebSockets, and lets go of servers and models, which the caller
   * closes.
   */
  close(): Promise<void>;
}

/**
 * The gateway as a part of another application. It checks every request and handshake as it does on a server of its
 * own: key, `Origin`, `Host`, form, sizes of bodies and messages, work under way. The server is responsible for the
 * rest:
 *
 * - Clients that reach the listener. So `config.access` must have keys, or say that there are none
 *   (`allow_anonymous`), for which the application may have its own check beforehand. Without keys `access.hosts`
 *   must list the names by which it is called, unless they are `localhost` or addresses.
 * - The time and room that headers and bodies have, and how many connections there may be: `headersTimeout`,
 *   `requestTimeout`, `maxHeaderSize`, `maxConnections`; `maxHeadersCount = 0`, because by default Node drops all
 *   headers after the 2000th, `Origin` too; `keepAliveTimeout`, which must be longer than a proxy before it holds
 *   unused connections, or some requests come to one that just ends.
 * - Mounting it before middleware that reads bodies (`express.json()`) or gathers answers (`compression`).
 * - WebSockets of its own: `new WebSocketServer({ server, path })` of ws answers handshakes to every other path with
 *   400, the gateway's too. Use `noServer` and a listener for `upgrade` that leaves the gateway's path alone.
 * - Ending: `drain()` and `close()`, then its own server.
 *
 * @throws ConfigError for a field that is refused, for settings that admit every client, and for a key that is not set;
 *   for `state` without `openState`
 *
 * @example
 * const gateway = createGateway({ models, config: { access: { keys: [{ name: 'web', env: 'WEB_KEY' }] } } });
 * host.use('/ai', gateway.app);
 * const server = host.listen(3000);
 * gateway.attach(server, '/ai');
 */
export function createGateway({ config: input = {}, ...parts }: MountedGatewayOptions): MountedGateway {
  // Callers without types may leave it out, and then get an error that names the missing settings.
  const config = mergeConfig([{ values: input, location: fieldName }]);
  checkMounted(config.access);
  const gateway = assembleGateway(config, parts, { serveMetrics: true });
  const reload = (changed: Reloading): void => {
    checkMounted(changed.access);
    gateway.reload(changed);
  };
  return { ...gateway, reload };
}

/**
 * The same of a whole configuration, for a caller that listens as it says.
 * @throws ConfigError for a key that is not there
 */
export function assembleGateway(
  config: Config,
  given: GatewayParts,
  { serveMetrics }: { readonly serveMetrics: boolean },
): MountedGateway & { readonly access: Access; readonly health: HealthOptions } {
  if (config.workers > 1)
    throw new ConfigError('workers', 'is for flinch serve; this gateway serves from its own process alone');
  const { metrics = new Metrics(), env = process.env, now = Date.now } = given;
  const { models, commons, calibrations, logger = faultLogger(metrics) } = given;
  const parts = { ...given, metrics, logger, env, now };
  const { limits, streams: times, shutdown } = config;
  const settings = { limits, streams: times, bounds: { ...CONNECTION_BOUNDS, ...given.bounds } };
  const state = stateOf(config, parts, settings.bounds);
  const access = new Access(clientsOf(config, config.access), { env, now, shared: commons, state });
  const webhooks = webhooksOf(config, parts);
  const answering = answeringOf(config, parts, access, webhooks);
  const reload = (changed: Reloading): void => {
    access.replace(clientsOf(config, changed.access));
    answering.policies = watched(new Policies(changed), metrics);
  };
  const elsewhere = [commons?.elsewhere, state?.generations].filter((each) => each !== undefined);
  const live = new LiveGenerations(settings, logger, elsewhere, commons?.workers);
  state?.generations.serve(live);
  const lifecycle = new Lifecycle();
  const serving = { models, answering, live, access, settings, lifecycle, metrics, logger };
  const streams = new StreamServer(serving);
  const connections = new Connections(streams);
  const unwatch = metrics.watch({
    models,
    logger,
    generations: () => live.size,
    connections: () => ({ http: connections.size, websocket: streams.connections }),
  });
  if (commons) metrics.collectFrom(commons.collect);
  const health = { models, answering, lifecycle, state, workers: commons?.health };
  const app = createApp({ ...serving, ...health, serveMetrics, calibrations });
  const close = async (): Promise<void> => {
    lifecycle.drain();
    await streams.close();
    await live.drain(0); // ends generations that wait to be resumed
    await webhooks.close(0);
    await state?.close();
    connections.detach();
    unwatch();
  };
  const drain = async (seconds = shutdown.drain_s): Promise<void> => {
    if (!(seconds >= 0)) throw new RangeError(`seconds: must be a number from 0, not ${seconds}`);
    lifecycle.drain();
    await live.drain(1000 * seconds);
    await Promise.all([streams.close(), webhooks.close(LAST_MESSAGES_MS)]);
  };
  const attach = (server: Server, path?: string): void => connections.attach(server, path);
  return { app, attach, live, metrics, access, health, reload, drain, close };
}

type Complete = GatewayParts & Required<Pick<GatewayParts, 'metrics' | 'logger' | 'env' | 'now'>>;

/** State that is shared with other gateways; `null` without. */
function stateOf(
  config: Config,
  { openState = withoutPackage, metrics, logger, now, commons }: Complete,
  { historyEvents }: ConnectionBounds,
): State | null {
  if (!config.state) return null;
  const state = openState(config.state, {
    logger,
    now,
    usage: commons?.usage ?? new OwnUsage(),
    resumeMs: 1000 * config.streams.resume_s,
    historyEvents,
    observe: (...command) => metrics.redisCommand(...command),
  });
  metrics.watchRedis(() => state.up);
  return state;
}

const clientsOf = ({ limits }: Config, access: Config['access']) => ({
  ...access,
  sockets: access.sockets ?? Math.ceil(limits.connections / 2),
  refusedBytes: REFUSED_MESSAGES * limits.body_bytes,
});

function webhooksOf({ webhooks }: Config, { env, logger, metrics }: Complete): Webhooks {
  for (const i of webhooks.keys()) metrics.watchWebhook(i);
  const counted: WebhooksOptions['counted'] = (...message) => metrics.webhook(...message);
  return openWebhooks(webhooks, { env, logger, counted });
}

/** What answers are written with, and who hears of them. */
function answeringOf(
  config: Config,
  { models, policies, metrics, logger }: Complete,
  access: Access,
  webhooks: Webhooks,
): Answering {
  const { limits } = config;
  const kept = new KeptAnswers(limits.kept_bytes);
  const unreplaced = (error: unknown, fields: object, text: string): void => {
    const { code } = toApiError(error).body;
    if (OWN_FAULTS.has(code)) logger.error({ ...fields, code, err: error }, text);
    else logger.warn({ ...fields, code }, text);
  };
  return {
    models,
    policies: watched(new Policies(policies ?? config), metrics),
    limits,
    get severalKeys() {
      return access.severalKeys;
    },
    count: (name, isKept) => metrics.policy(name, isKept),
    kept,
    budgets: new PerClient(() => new Budget()),
    observe: [
      kept.observe,
      ...(config.log.texts ? [loggedTexts(logger)] : []),
      metered(metrics, [traceGenerations(), webhooks.listen]),
    ],
    faulty: (error) => metrics.failed(error),
    escalated: (model, to, error, { responseId }) => {
      metrics.escalated(model, error === null);
      const fields = { response_id: responseId, model, to };
      if (error !== null) unreplaced(error, fields, 'answer not escalated');
    },
    voted: (model, isReplaced, error, { responseId }) => {
      metrics.voted(model, isReplaced);
      const fields = { response_id: responseId, model };
      if (error !== null) unreplaced(error, fields, 'further answer of a vote not written');
    },
  };
}

/** The policies, whose metrics are shown from the start. */
function watched(policies: Policies, metrics: Metrics): Policies {
  metrics.watchPolicies(policies.names);
  metrics.watchEscalations(policies.escalating);
  return policies;
}

/** The connections of the servers that a gateway is attached to. */
class Connections {
  readonly #streams: StreamServer;
  readonly #open = new Set<Duplex>();
  readonly #detachments: (() => void)[] = [];

  constructor(streams: StreamServer) {
    this.#streams = streams;
  }

  get size(): number {
    return this.#open.size;
  }

  attach(server: Server, path = '/'): void {
    const detach = this.#streams.attach(server, path);
    server.on('connection', this.#follow);
    this.#detachments.push(detach, () => server.off('connection', this.#follow));
  }

  detach(): void {
    for (const detach of this.#detachments.splice(0)) detach();
  }

  readonly #follow = (connection: Duplex): void => {
    // Some begin anew.
    if (this.#open.has(connection)) return;
    this.#open.add(connection);
    connection.once('close', () => this.#open.delete(connection));
  };
}

const faultLogger = (metrics: Metrics): Logger =>
  pino({ level: 'error' }, new LogWriter(2, (lines) => metrics.logDropped(lines)));
