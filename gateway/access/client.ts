import { ApiError } from '../errors.js';
import type { Principal } from './principal.js';
import { RequestRate } from './request-rate.js';

export interface ClientLimits {
  readonly requestsPerMinute: number;
  /** Under way at once. */
  readonly generations: number;
}

export interface ClientRights {
  readonly generate: boolean;
  readonly metrics: boolean;
}

/** Who may use the gateway, with what it has used. There is one of each name. */
export class Client implements Principal {
  readonly name: string;
  readonly rights: ClientRights;
  /** The same on a connection that makes many requests: each generation counts as one. */
  readonly onSocket: Principal;
  readonly #limits: ClientLimits;
  readonly #rate: RequestRate;
  #generations = 0;

  /** @param now in milliseconds */
  constructor(name: string, rights: ClientRights, limits: ClientLimits, now: () => number) {
    this.name = name;
    this.rights = rights;
    this.#limits = limits;
    this.#rate = new RequestRate(limits.requestsPerMinute, now);
    this.onSocket = {
      name,
      admit: () => {
        this.request();
        return this.admit();
      },
    };
  }

  /** @throws ApiError 429 `rate_limited` */
  request(): void {
    this.#rate.take();
  }

  /** @throws ApiError 429 `too_many_generations` */
  admit(): () => void {
    const { generations } = this.#limits;
    if (this.#generations >= generations) {
      throw new ApiError(429, 'too_many_generations', `at most ${generations} generations at once`, null, 1);
    }
    this.#generations += 1;
    let held = true;
    return () => {
      if (held) this.#generations -= 1;
      held = false;
    };
  }
}
