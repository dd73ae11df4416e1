import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.js';
import { ConfigError } from '../config/config-error.js';
import { ApiError } from '../errors/api-error.js';
import { isLoopback, mayNameUs, mayUseUs, networkOf } from './addresses.js';
import { Client, type ClientLimits, type ClientRights } from './client.js';
import { Keys, keyHash } from './keys.js';
import { type Ticket, type TicketStore, Tickets } from './tickets.js';
import { type KeyUsage, OwnUsage, type Usage } from './usage.js';

type Headers = Pick<IncomingMessage['headers'], 'authorization' | 'host' | 'origin'>;

export interface AccessOptions {
  /** Environment with the configuration's variables for keys. */
  readonly env: NodeJS.ProcessEnv;
  /** Clock, in milliseconds. */
  readonly now: () => number;
  /** Usage and tickets shared with the other workers of the port; by default there are none. */
  readonly shared?: SharedAccess | undefined;
  /** State shared with other gateways; it replaces the above for everything that is counted by key. */
  readonly state?: SharedState | null;
}

/** Usage and tickets of all workers of one port. */
export interface SharedAccess {
  readonly usage: Usage;
  readonly tickets: TicketStore;
}

/** Usage and tickets of all gateways that share a state, also on several machines. */
export interface SharedState {
  readonly usage: KeyUsage;
  readonly tickets: TicketStore;
}

/** Access control: the clients that may use the gateway, from which pages, and how much (docs/access.md). */
export class Access {
  readonly #config: Config['access'];
  readonly #keys: Keys<Client>;
  /** Client of all requests if there are no keys. */
  readonly #anonymous: Client;
  readonly #clients = new Map<string, Client>();
  readonly #tickets: TicketStore;
  /** Whether more than one key may use the models: data that one has stored is not another's. */
  readonly severalKeys: boolean;

  /** @throws ConfigError for a key whose variable is not set */
  constructor(
    config: Config['access'] & Pick<ClientLimits, 'sockets' | 'refusedBytes'>,
    { env, now, shared, state }: AccessOptions,
  ) {
    this.#config = config;
    const gatewayUsage = shared?.usage ?? new OwnUsage();
    const usage = { ofKeys: state?.usage ?? gatewayUsage, ofGateway: gatewayUsage };
    const client = (name: string, rights: ClientRights, limits: Limits = {}): Client => {
      const { requests_per_minute = config.requests_per_minute, generations = config.generations } = limits;
      const { sockets, refusedBytes } = config;
      const within = { requestsPerMinute: requests_per_minute, generations, sockets, refusedBytes };
      const created = new Client(name, rights, within, usage);
      this.#clients.set(name, created);
      return created;
    };
    // `anonymous` comes first: a key may have the same name, which then replaces it.
    this.#anonymous = client('anonymous', { generate: true, metrics: true });
    const keyed = config.keys.map((key) => {
      const rights = { metrics: key.metrics, generate: key.generate ?? !key.metrics };
      return [keyHash(key, env), client(key.name, rights, key)] as const;
    });
    this.#keys = new Keys(keyed);
    this.severalKeys = keyed.filter(([, { rights }]) => rights.generate).length > 1;
    this.#tickets =
      state?.tickets ?? shared?.tickets ?? new Tickets<string>({ seconds: config.ticket_s, now });
  }

  /** @throws ApiError 421 for a name that another site may have made point here */
  checkHost(headers: Headers): void {
    // A page that has no key gets nothing, whatever it calls us.
    if (this.#keys.size === 0) this.checkName(headers);
  }

  /**
   * The same for routes that require no key even if there are keys.
   * @throws ApiError 421
   */
  checkName({ host }: Headers): void {
    // HTTP/1.0 may leave the name out; no browser does.
    if (host === undefined || mayNameUs(host, this.#config.hosts)) return;
    const text = 'Host: not an allowed name of this gateway; its operator can add it to access.hosts';
    throw new ApiError('host_not_allowed', text, 'Host');
  }

  mayUse({ origin, host }: Headers): boolean {
    return mayUseUs(origin ?? null, host ?? null, this.#config.origins);
  }

  /** @throws ApiError 403 for pages of other sites, which would use the models of their visitors */
  checkOrigin(headers: Headers): void {
    if (this.mayUse(headers)) return;
    const text =
      'Origin: pages of this origin may not use the gateway; its operator can add it to access.origins';
    throw new ApiError('origin_not_allowed', text, 'Origin');
  }

  /**
   * Client of a request, by `Authorization: Bearer KEY`; if there are no keys, by its address.
   * @throws ApiError 401 without a key or with a wrong one, 403 for one that may not do this
   */
  byKey({ authorization }: Headers, right: keyof ClientRights, address?: string): Client {
    if (this.#keys.size === 0) return this.#anonymous.from(networkOf(address));
    if (authorization === undefined) {
      throw new ApiError(
        'missing_api_key',
        'Authorization: "Bearer" and an API key are required',
        'Authorization',
      );
    }
    const [, key = ''] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    const client = this.#keys.find(key);
    if (!client) throw new ApiError('invalid_api_key', 'Authorization: unknown API key', 'Authorization');
    if (!client.rights[right])
      throw new ApiError('key_not_allowed', `the key ${client.name} may not do this`);
    return client;
  }

  /** A ticket for one WebSocket connection. */
  async issueTicket({ name }: Client): Promise<Ticket> {
    return this.#tickets.issue(name);
  }

  /**
   * Client that opens a WebSocket, by key or by `?ticket=`.
   * @throws ApiError as {@link byKey}; 401 for a ticket that is used, too old, or none
   */
  async byHandshake(headers: Headers, query: URLSearchParams, address?: string): Promise<Client> {
    const ticket = query.get('ticket');
    if (ticket === null) return this.byKey(headers, 'generate', address);
    const owner = await this.#tickets.redeem(ticket);
    const client = owner === null ? undefined : this.#clients.get(owner);
    if (client) return client === this.#anonymous ? client.from(networkOf(address)) : client;
    throw new ApiError('invalid_ticket', 'ticket: already used, expired or unknown', 'ticket');
  }
}

interface Limits {
  readonly requests_per_minute?: number | undefined;
  readonly generations?: number | undefined;
}

/**
 * Refuses to admit every client by accident, and keys that are not set.
 * @throws ConfigError where others than this machine can reach a gateway that asks for no keys
 */
export function checkAccess(
  { listen, access }: Pick<Config, 'listen' | 'access'>,
  env: NodeJS.ProcessEnv,
): void {
  for (const key of access.keys) keyHash(key, env);
  if (access.keys.length > 0 || access.allow_anonymous || isLoopback(listen.host)) return;
  const problem = `${listen.host} is not a loopback address, and everyone who can reach it could use the models: \
add access.keys to the configuration (docs/access.md), or set access.allow_anonymous or --allow-anonymous`;
  throw new ConfigError('listen.host', problem);
}

/**
 * The same for a listener of the host application: it is unknown which clients can reach it.
 * @throws ConfigError without keys, unless it is said that there are none
 */
export function checkMounted({ keys, allow_anonymous }: Config['access']): void {
  if (keys.length > 0 || allow_anonymous) return;
  const problem = 'required in a mounted gateway, unless allow_anonymous is set (docs/access.md)';
  throw new ConfigError('access.keys', problem);
}
