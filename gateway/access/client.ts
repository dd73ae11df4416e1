import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../errors/api-error.js';
import type { Principal } from './principal.js';

export interface ClientLimits {
  readonly requestsPerMinute: number;
  /** Under way at once. */
  readonly generations: number;
}

export interface ClientRights {
  readonly generate: boolean;
  readonly metrics: boolean;
}

const MINUTE_S = 60;

/** Who may use the gateway, with what it has used. There is one of each name. */
export class Client implements Principal {
  readonly name: string;
  readonly rights: ClientRights;
  /** The same on a connection that makes many requests: each generation counts as one. */
  readonly onSocket: Principal;
  readonly #limits: ClientLimits;
  readonly #rate: RateLimiterMemory;
  #generations = 0;

  constructor(name: string, rights: ClientRights, limits: ClientLimits) {
    this.name = name;
    this.rights = rights;
    this.#limits = limits;
    this.#rate = new RateLimiterMemory({ points: limits.requestsPerMinute, duration: MINUTE_S });
    this.onSocket = {
      name,
      admit: async () => {
        await this.request();
        return this.admit();
      },
    };
  }

  /**
   * Counts one request; a minute begins with the first of them.
   * @throws ApiError 429 `rate_limited` that says when the next minute begins
   */
  async request(): Promise<void> {
    try {
      await this.#rate.consume(this.name);
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const seconds = Math.ceil(rejection.msBeforeNext / 1000);
      const message = `more than ${this.#limits.requestsPerMinute} requests per minute; try again in ${seconds} s`;
      throw new ApiError(429, 'rate_limited', message, null, seconds);
    }
  }

  /** @throws ApiError 429 `too_many_generations` */
  admit(): () => void {
    const { generations } = this.#limits;
    if (this.#generations >= generations) {
      throw new ApiError(
        429,
        'too_many_generations',
        `at most ${generations} concurrent generations`,
        null,
        1,
      );
    }
    this.#generations += 1;
    let held = true;
    return () => {
      if (held) this.#generations -= 1;
      held = false;
    };
  }
}
