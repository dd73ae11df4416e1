import { randomUUID } from 'node:crypto';
import http, { type Agent, type ClientRequest, type RequestOptions } from 'node:http';
import https from 'node:https';
import { setImmediate } from 'node:timers/promises';
import { urlToHttpOptions } from 'node:url';
import type { ForwardedRequest } from '../../answers/served-model.js';
import type { UpstreamModelConfig } from '../../config/models-section.js';
import { ApiError } from '../../errors/api-error.js';
import { jsonText } from '../../requests/exact-numbers.js';
import { UpstreamError } from '../upstream-error.js';
import { Exchange } from './exchange.js';

export interface UpstreamHttpOptions {
  /** Up to and with `/v1`. */
  readonly url: string;
  readonly key: string | null;
  /** Further headers, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeouts: UpstreamModelConfig['timeouts'];
  /** Maximum size of an answer. */
  readonly responseBytes?: number;
  readonly connectMs?: number;
}

/** Maximum size of an answer. */
const RESPONSE_BYTES = 64 << 20;
const CONNECT_MS = 5000;

/** Time limit for an answer that comes whole, which is OpenAI's clients' own. */
const WHOLE_MS = 600_000;

/** A connection that is not used for so long is closed: before servers do, of which many take 5 s. */
const UNUSED_MS = 4000;

/**
 * Requests to one server. Nothing of a client's request decides where they go; of its headers only the trace
 * context, once it was read, goes on. Redirects are not followed, and compressed answers not asked for.
 *
 * It uses node:http: undici 7, and so the fetch of Node 20 to 24, ends the process if a server closes its
 * connection while the answer is not being read (nodejs/undici#5360).
 */
export class UpstreamHttp {
  readonly #options: UpstreamHttpOptions;
  readonly #module: typeof http | typeof https;
  readonly #agent: Agent;
  readonly #origin: RequestOptions;
  readonly #base: string;
  readonly #query: string;
  #closed = false;

  constructor(options: UpstreamHttpOptions) {
    const { origin, pathname, protocol, search } = new URL(options.url);
    this.#options = options;
    this.#query = search;
    this.#base = pathname.replace(/\/+$/, '');
    this.#origin = urlToHttpOptions(new URL(origin));
    this.#module = protocol === 'https:' ? https : http;
    this.#agent = new this.#module.Agent({
      keepAlive: true,
      keepAliveMsecs: 60_000, // by default the first probe is sent after one second
      maxFreeSockets: Number.POSITIVE_INFINITY,
      timeout: UNUSED_MS,
    });
  }

  /**
   * Resolves with the first byte of the answer's body, or its end, whatever the status is.
   * @param path below the configured address
   * @param signal closes the connection
   * @param options headers of this request, unless the configuration has them, and whether the answer is written to
   *   its end before its first byte comes
   * @throws UpstreamError `upstream_unreachable`, `upstream_timeout`; what the signal is aborted with; ApiError 400
   */
  async post(
    path: string,
    body: object,
    signal: AbortSignal,
    { headers, whole = false }: Pick<Target, 'headers' | 'whole'> = {},
  ): Promise<Exchange> {
    const target = { method: 'POST', path: this.#path(path), headers: { ...headers, ...this.#headers() } };
    return this.#send({ ...target, whole }, serialized(body), signal);
  }

  /** The same without a body. */
  get(path: string, signal: AbortSignal): Promise<Exchange> {
    return this.#send({ method: 'GET', path: this.#path(path) }, '', signal);
  }

  /**
   * Forwards any request, with few of its headers.
   * @param route the request line, whose path is below the configured address, from `/v1` on
   */
  forward(
    { route, query, headers }: Omit<ForwardedRequest, 'body'>,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<Exchange> {
    const [method = '', path = ''] = route.split(' ');
    const queries = [this.#query.slice(1), query].filter(Boolean).join('&');
    const target = { method, path: `${this.#base}${path.slice('/v1'.length)}${queries && `?${queries}`}` };
    return this.#send({ ...target, headers: { ...this.#headers(), ...headers } }, body, signal);
  }

  async #send(target: Target, body: string | Uint8Array, signal: AbortSignal): Promise<Exchange> {
    // By the next turn, events on unused connections have been handled, such as their end.
    await setImmediate();
    signal.throwIfAborted();
    if (this.#closed) throw new UpstreamError('upstream_error', 'the gateway is shutting down');
    const first = this.#begin(target, body, signal);
    try {
      await first.exchange.started;
      return first.exchange;
    } catch (error) {
      if (!isStale(first, error)) throw error;
    }
    // Other unused connections may have ended, too.
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
    const { exchange } = this.#begin(target, body, signal);
    await exchange.started;
    return exchange;
  }

  #begin(target: Target, body: string | Uint8Array, signal: AbortSignal): Prefix {
    const { timeouts, responseBytes = RESPONSE_BYTES, connectMs = CONNECT_MS } = this.#options;
    const { whole, headers = this.#headers(), ...line } = target;
    const options = {
      ...this.#origin,
      ...line,
      headers: { ...headers, ...framingOf(target.method, body) },
      agent: this.#agent,
    };
    const request = this.#module.request(options);
    const exchange = new Exchange(request, {
      firstByteMs: Math.max(timeouts.first_byte_s * 1000, whole ? WHOLE_MS : 0),
      idleMs: timeouts.idle_s * 1000,
      responseBytes,
      signal,
    });
    limitConnecting(request, connectMs);
    request.end(body);
    return { request, exchange };
  }

  /** Ends what is under way. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
  }

  #path(path: string): string {
    return `${this.#base}${path}${this.#query}`;
  }

  /** All that leave: there is no way for others to be added. */
  #headers(): Record<string, string> {
    const { headers, key } = this.#options;
    return {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      'user-agent': 'flinch',
      'x-request-id': randomUUID(),
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...headers,
    };
  }
}

interface Target {
  readonly whole?: boolean;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Headers that tell the end of a body: on a connection that is kept, the next request follows. Node sets them
 * by itself for some methods only: it writes the body of a `DELETE` without any.
 */
function framingOf(method: string, body: string | Uint8Array): Readonly<Record<string, string>> {
  const bytes = Buffer.byteLength(body);
  return bytes === 0 && method === 'GET' ? {} : { 'content-length': String(bytes) };
}

type Prefix = { readonly request: ClientRequest; readonly exchange: Exchange };

/**
 * Whether the server had ended a connection that was used again, before anybody here knew. llama.cpp ends each after a
 * streamed answer, though its headers say that it stays.
 */
function isStale({ request, exchange }: Prefix, error: unknown): boolean {
  const unreachable = error instanceof UpstreamError && error.code === 'upstream_unreachable';
  return unreachable && request.reusedSocket && exchange.status === 0;
}

/**
 * Limits the time until a connection is established, with TLS if that is used. An agent's `timeout` does
 * nothing while it is in use.
 */
function limitConnecting(request: ClientRequest, ms: number): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const late = Object.assign(new Error('connecting timed out'), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => request.destroy(late), ms);
    for (const event of ['encrypted' in socket ? 'secureConnect' : 'connect', 'close']) {
      socket.once(event, () => clearTimeout(timer));
    }
  });
}

/** @throws ApiError 400 for what is nested too deeply: it can be read all the same */
function serialized(body: object): string {
  try {
    return jsonText(body);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ApiError('invalid_value', 'the request is nested too deeply');
  }
}
