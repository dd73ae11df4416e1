import { randomUUID } from 'node:crypto';
import { type Dispatcher, Pool } from 'undici';
import type { UpstreamModelConfig } from '../config.js';
import { UpstreamError } from './errors.js';
import { Exchange } from './exchange.js';

export interface UpstreamHttpOptions {
  /** Up to and with `/v1`. */
  readonly url: string;
  readonly key: string | null;
  readonly timeouts: UpstreamModelConfig['timeouts'];
  readonly responseBytes: number;
}

const USER_AGENT = 'flinch';

/**
 * Requests to one server. Nothing of a client's request decides where they go or which headers they have; redirects
 * are not followed, and compressed answers not asked for.
 */
export class UpstreamHttp {
  readonly #options: UpstreamHttpOptions;
  readonly #pool: Pool;
  readonly #base: string;

  constructor(options: UpstreamHttpOptions) {
    const { url, timeouts } = options;
    const { origin, pathname } = new URL(url);
    this.#options = options;
    this.#base = pathname.replace(/\/+$/, '');
    this.#pool = new Pool(origin, {
      connect: { timeout: timeouts.connect_s * 1000 },
      // The exchange has its own clocks: undici's run on while nobody reads, and do not know a first byte.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Resolves with the first byte of the answer's body, or its end, whatever the status is.
   * @param path below the configured address; with a leading `/../` beside its last part
   * @param signal closes the connection
   * @throws UpstreamError `upstream_unreachable`, `upstream_timeout`; what the signal is aborted with
   */
  post(path: string, body: object, signal: AbortSignal): Promise<Exchange> {
    return this.#send({ method: 'POST', path: this.#path(path), body: JSON.stringify(body) }, signal);
  }

  /** The same without a body. */
  get(path: string, signal: AbortSignal): Promise<Exchange> {
    return this.#send({ method: 'GET', path: this.#path(path) }, signal);
  }

  async #send(
    request: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'body'>,
    signal: AbortSignal,
  ): Promise<Exchange> {
    signal.throwIfAborted();
    const { timeouts, responseBytes } = this.#options;
    const exchange = new Exchange({
      firstByteMs: timeouts.first_byte_s * 1000,
      idleMs: timeouts.idle_s * 1000,
      responseBytes,
      signal,
    });
    this.#pool.dispatch({ ...request, headers: this.#headers() }, exchange);
    await exchange.begun;
    return exchange;
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await this.#pool.destroy(new UpstreamError('upstream_error', 'the gateway shuts down'));
  }

  #path(path: string): string {
    return path.startsWith('/../')
      ? `${this.#base.slice(0, this.#base.lastIndexOf('/'))}${path.slice(3)}`
      : `${this.#base}${path}`;
  }

  /** All that leave: there is no way for others to be added. */
  #headers(): Record<string, string> {
    const { key } = this.#options;
    return {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      'user-agent': USER_AGENT,
      'x-request-id': randomUUID(),
      ...(key !== null && { authorization: `Bearer ${key}` }),
    };
  }
}
