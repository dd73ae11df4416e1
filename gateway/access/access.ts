import type { IncomingMessage } from 'node:http';
import { ConfigError } from '../config/config-error.js';
import type { Config } from '../config/gateway-config.js';
import { ApiError } from '../errors/api-error.js';
import { Keys, keyHashes } from './access-keys.js';
import { isLoopback, mayNameUs, mayUseUs, networkOf } from './addresses.js';
import {
  Client,
  type ClientLimits,
  type ClientRights,
  type ClientUsage,
  type Terms,
} from './limited-client.js';
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

type AccessConfig = Config['access'] & Pick<ClientLimits, 'sockets' | 'refusedBytes'>;

/** A key, or `null` for requests without one where there are none. */
interface Known {
  readonly hash: Buffer | null;
  readonly terms: Terms;
  readonly client: Client;
}

const ANONYMOUS = 'anonymous';

/** Access control: the clients that may use the gateway, from which pages, and how much (docs/access.md). */
export class Access {
  readonly #env: NodeJS.ProcessEnv;
  readonly #usage: ClientUsage;
  readonly #tickets: TicketStore;
  #config: AccessConfig;
  #keys = new Keys<Client>([]);
  /** By name. */
  #known: ReadonlyMap<string, Known> = new Map();
  /** Names of all keys so far that may use the models. */
  readonly #users = new Set<string>();

  /** @throws ConfigError for a key that cannot be read */
  constructor(config: AccessConfig, { env, now, shared, state }: AccessOptions) {
    this.#env = env;
    this.#config = config;
    const gatewayUsage = shared?.usage ?? new OwnUsage();
    this.#usage = { ofKeys: state?.usage ?? gatewayUsage, ofGateway: gatewayUsage };
    this.#tickets = state?.tickets ?? shared?.tickets ?? new Tickets(now);
    this.replace(config);
  }

  /**
   * New requests have these keys and limits, on open connections too.
   * @throws ConfigError for a key that cannot be read; then nothing has changed
   */
  replace(config: AccessConfig): void {
    const before = this.#known;
    const client = (name: string, hash: Buffer | null, rights: ClientRights, own: Limits): Known => {
      const { requests_per_minute = config.requests_per_minute, generations = config.generations } = own;
      const { sockets, refusedBytes } = config;
      const limits = { requestsPerMinute: requests_per_minute, generations, sockets, refusedBytes };
      const same = before.get(name);
      // One of the same name with another key is another client: what the old key has opened is over.
      const stays = same && sameHash(same.hash, hash) ? same : null;
      const terms = stays?.terms ?? { rights, limits, revoked: false };
      Object.assign(terms, { rights, limits });
      return { hash, terms, client: stays?.client ?? new Client(name, terms, this.#usage) };
    };
    // All are read before anything changes.
    const hashes = keyHashes(config.keys, this.#env);
    const keyed = config.keys.map((key, i): Known => {
      const rights = { metrics: key.metrics, generate: key.generate ?? !key.metrics };
      return client(key.name, hashes[i]!, rights, key);
    });
    const all = keyed.length > 0 ? keyed : [client(ANONYMOUS, null, { generate: true, metrics: true }, {})];
    this.#config = config;
    this.#known = new Map(all.map((known) => [known.client.name, known]));
    this.#keys = new Keys(keyed.flatMap(({ hash, client }) => (hash ? [[hash, client] as const] : [])));
    const terms = new Set(all.map((known) => known.terms));
    for (const known of before.values()) known.terms.revoked = !terms.has(known.terms);
    for (const { client } of keyed) if (client.rights.generate) this.#users.add(client.name);
  }

  /** Whether more than one key may use the models, or could at some time: data that one has stored is not another's. */
  get severalKeys(): boolean {
    return this.#users.size > 1;
  }

  /** @throws ApiError 421 for a name that another site may have made point here */
  checkHost(headers: Headers): void {
    // A page that has no key gets nothing, whatever it calls us.
    if (this.#keys.size === 0) this.checkHostName(headers);
  }

  /**
   * The same for routes that require no key even if there are keys.
   * @throws ApiError 421
   */
  checkHostName({ host }: Headers): void {
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
    const anonymous = this.#known.get(ANONYMOUS);
    if (anonymous?.hash === null) return anonymous.client.from(networkOf(address));
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
    const known = owner === null ? undefined : this.#known.get(owner);
    if (known) return known.hash === null ? known.client.from(networkOf(address)) : known.client;
    throw new ApiError('invalid_ticket', 'ticket: already used, expired or unknown', 'ticket');
  }
}

const sameHash = (a: Buffer | null, b: Buffer | null): boolean => (a && b ? a.equals(b) : a === b);

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
  keyHashes(access.keys, env);
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
