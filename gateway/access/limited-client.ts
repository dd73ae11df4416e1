import { ApiError } from '../errors/api-error.js';
import type { Principal } from './principal.js';
import type { KeyUsage, Release } from './usage.js';

export interface ClientLimits {
  readonly requestsPerMinute: number;
  /** Maximum generations under way at once. */
  readonly generations: number;
  /** WebSockets that are open at once: of an address, where the other limits are of all of them. */
  readonly sockets: number;
  /** Maximum bytes of refused WebSocket messages, in a minute: of an address, as above. */
  readonly refusedBytes: number;
}

export interface ClientRights {
  readonly generate: boolean;
  readonly metrics: boolean;
}

/** What a client may do now: a reload changes it, also for connections that are open. */
export interface Terms {
  rights: ClientRights;
  limits: ClientLimits;
  /** Whether its key was removed, or replaced by another one of the same name. */
  revoked: boolean;
}

/** Counters of what a client uses. */
export interface ClientUsage {
  /** Requests and generations, which gateways may count together. */
  readonly ofKeys: KeyUsage;
  /** Load on one gateway: connections, bytes of refused messages, requests for metrics. */
  readonly ofGateway: KeyUsage;
}

/** A client that may use the gateway, within limits. There is one of each name. */
export class Client implements Principal {
  readonly name: string;
  readonly client: string;
  /** The same on a connection that makes many requests: each generation counts as one. */
  readonly onSocket: Principal;
  readonly #terms: Terms;
  readonly #usage: ClientUsage;

  /** @param client name that distinguishes it from other clients that share its limits */
  constructor(name: string, terms: Terms, usage: ClientUsage, client = `key:${name}`) {
    this.name = name;
    this.client = client;
    this.#terms = terms;
    this.#usage = usage;
    this.onSocket = {
      name,
      client,
      refused: (bytes) => this.refused(bytes),
      checkValid: () => this.checkValid(),
      admit: async () => {
        await this.request();
        return this.admit();
      },
    };
  }

  get rights(): ClientRights {
    return this.#terms.rights;
  }

  /** The same for clients of one network, which share its limits with all others. */
  from(network: string): Client {
    return new Client(this.name, this.#terms, this.#usage, `address:${network}`);
  }

  /**
   * Counts one request; a minute begins with the first of them.
   * @throws ApiError 429 `rate_limited` that says when the next minute begins
   */
  async request(right: keyof ClientRights = 'generate'): Promise<void> {
    const { requestsPerMinute } = this.#terms.limits;
    const { ofKeys, ofGateway } = this.#usage;
    const usage = right === 'metrics' ? ofGateway : ofKeys;
    const waitMs = await usage.request(this.name, requestsPerMinute);
    if (waitMs === null) return;
    const seconds = Math.ceil(waitMs / 1000);
    const message = `more than ${requestsPerMinute} requests per minute; try again in ${seconds} s`;
    throw new ApiError('rate_limited', message, null, { retryAfterSeconds: seconds });
  }

  /**
   * Counts the bytes of a message that was refused.
   * @throws ApiError 429 `rate_limited` while there were too many
   */
  async refused(bytes: number): Promise<void> {
    const { refusedBytes } = this.#terms.limits;
    const waitMs = await this.#usage.ofGateway.request(`refused:${this.client}`, refusedBytes, bytes);
    if (waitMs === null) return;
    const seconds = Math.ceil(waitMs / 1000);
    const message = `more than ${refusedBytes} bytes of refused messages per minute; try again in ${seconds} s`;
    throw new ApiError('rate_limited', message, null, { retryAfterSeconds: seconds });
  }

  /** @throws ApiError 429 `too_many_connections` */
  async socket(): Promise<Release> {
    const { sockets } = this.#terms.limits;
    const release = await this.#usage.ofGateway.take(`sockets:${this.client}`, sockets);
    if (release) return release;
    throw new ApiError('too_many_connections', `at most ${sockets} open WebSockets`, null, {
      retryAfterSeconds: 1,
    });
  }

  /** @throws ApiError 401 `invalid_api_key` once the key was removed or replaced */
  checkValid(): void {
    if (!this.#terms.revoked) return;
    throw new ApiError('invalid_api_key', 'Authorization: the API key is no longer valid', 'Authorization');
  }

  /** @throws ApiError 429 `too_many_generations`, 401 `invalid_api_key` once the key is no longer valid */
  async admit(): Promise<Release> {
    this.checkValid();
    const { generations } = this.#terms.limits;
    const release = await this.#usage.ofKeys.take(`generations:${this.name}`, generations);
    if (release) return release;
    const message = `at most ${generations} concurrent generations`;
    throw new ApiError('too_many_generations', message, null, { retryAfterSeconds: 1 });
  }
}
