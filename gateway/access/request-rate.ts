import { ApiError } from '../errors.js';

const WINDOW_MS = 60_000;

/** So many requests in a minute, which begins with the first of them. */
export class RequestRate {
  readonly #perMinute: number;
  readonly #now: () => number;
  #taken = 0;
  #endsAt = Number.NEGATIVE_INFINITY;

  /** @param now in milliseconds */
  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** @throws ApiError 429 `rate_limited` that says when the next minute begins */
  take(): void {
    const now = this.#now();
    if (now >= this.#endsAt) {
      this.#taken = 0;
      this.#endsAt = now + WINDOW_MS;
    }
    if (this.#taken >= this.#perMinute) {
      const seconds = Math.ceil((this.#endsAt - now) / 1000);
      const message = `more than ${this.#perMinute} requests in a minute; try again in ${seconds} s`;
      throw new ApiError(429, 'rate_limited', message, null, seconds);
    }
    this.#taken += 1;
  }
}
