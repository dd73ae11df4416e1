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
  /** Where the configuration's variables with keys are. */
  readonly env: NodeJS.ProcessEnv;
  /** In milliseconds. */
  readonly now: () => number;
  /** What other gateways use as well; by default there are none. */
  readonly shared?: SharedAccess | undefined;
  /** In place of the above for what is a key's, whichever gateway it uses. */
  readonly state?: SharedState | null;
}

/** What the workers of one port have together. */
export interface SharedAccess {
  readonly usage: Usage;
  readonly tickets: TicketStore;
}

/** What gateways have together, of several machines, too. */
export interface SharedState {
  readonly usage: KeyUsage;
  readonly tickets: TicketStore;
}

/** Who may use the gateway, from which pages, and how much (docs/access.md). */
export class Access {
  readonly #config: Config['access'];
  readonly #keys: Keys<Client>;
  /** Everybody, where there are no keys. */
  readonly #anonymous: Client;
  readonly #clients = new Map<string, Client>();
  readonly #tickets: TicketStore;
  /** Whether more than one key may use the models: what one has stored is not another's. */
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
    // First, for a key may have its name, and then it is nobody.
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
   * The same for what asks for no key even where there are keys.
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

  /** @throws ApiError 403 for pages of other sites, which would use the models of whoever looks at them */
  checkOrigin(headers: Headers): void {
    if (this.mayUse(headers)) return;
    const text =
      'Origin: pages of this origin may not use the gateway; its operator can add it to access.origins';
    throw new ApiError('origin_not_allowed', text, 'Origin');
  }

  /**
   * Who asks, by `Authorization: Bearer KEY`; where there are no keys, somebody at an address.
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
   * Who opens a WebSocket, by key or by `?ticket=`.
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
 * Refuses to let everybody in by accident, and keys that are not there.
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
 * The same where somebody else listens: who can reach that is not known.
 * @throws ConfigError without keys, unless it is said that there are none
 */
export function checkMounted({ keys, allow_anonymous }: Config['access']): void {
  if (keys.length > 0 || allow_anonymous) return;
  const problem = 'required in a mounted gateway, unless allow_anonymous is set (docs/access.md)';
  throw new ConfigError('access.keys', problem);
}
