import type { ForwardedRequest } from '../../answers/served-model.js';
import type { UpstreamModelConfig } from '../../config/models-section.js';
import { exactOf, jsonText, withExactFields } from '../../requests/exact-numbers.js';
import { traceHeaders } from '../../tracing/trace-context.js';
import type { Capabilities, UpstreamRequest, UpstreamResponse } from '../upstream.js';
import { UpstreamError, type UpstreamErrorCode } from '../upstream-error.js';
import { ChunkReader } from '../wire/chunk-reader.js';
import type { Chunk } from '../wire/chunks.js';
import type { Exchange } from '../wire/exchange.js';
import { refusalOf, refusalWithin } from '../wire/refusal.js';
import { UpstreamHttp } from '../wire/wire-http.js';
import { type Call, callOf, type Dialect, seamOf, wayOf } from './dialect.js';
import { probe } from './server-probe.js';
import { StreamedResponse } from './streamed-response.js';

export interface UpstreamServerOptions {
  /** Up to and with `/v1`. */
  readonly url: string;
  /** Name of the model at the server. */
  readonly model: string;
  readonly key: string | null;
  /** Further headers of every request, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Strings that must not be in a text that clients see, beside key and host. */
  readonly secrets?: readonly string[];
  readonly timeouts: UpstreamModelConfig['timeouts'];
  /** Milliseconds since any fixed moment. */
  readonly now?: () => number;
}

/** All of these are this machine. */
const LOOPBACK = /^(127(\.\d+){3}|\[::1\])(?=$|:)/;

/** Whether the server is there is not known then. */
const UNREACHED: ReadonlySet<UpstreamErrorCode> = new Set(['upstream_unreachable', 'upstream_timeout']);

/** How long it is not asked again what it can do: where it could not say. */
const AGAIN_MS = 5000;
/** Wait after a refusal or an interruption: the first wait doubles up to this. */
const MAX_AGAIN_MS = 120_000;
/** Time without an answer after which a server may be gone: without requests, this would go unnoticed. */
const QUIET_MS = 30_000;
/** A refusal this long after the last probe is a reason for another: the server may be another one now. */
const PROBED_MS = 60_000;

/**
 * One server that speaks OpenAI's API or nearly so. What it can do is found out by asking it: at the first request,
 * or before; and again after it could not be reached or refused a request, for it may be another then. Until it has
 * answered that, what was known holds.
 */
export class UpstreamServer {
  /** Host with its port. */
  readonly host: string;
  readonly #options: UpstreamServerOptions;
  readonly #http: UpstreamHttp;
  readonly #closing = new AbortController();
  readonly #secrets: readonly string[];
  readonly #now: () => number;
  #dialect: Dialect | null = null;
  #probing: Promise<Dialect> | null = null;
  #probedAt = Number.NEGATIVE_INFINITY;
  #lastError: UpstreamError | null = null;
  /** Refusal of a probe, until the next one. */
  #refusal: UpstreamError | null = null;
  #reachable = false;
  /** Whether it is to be asked what it can do, and from when on. */
  #doubted = true;
  #againAt = Number.NEGATIVE_INFINITY;
  /** Probes without a whole answer, one after the other. */
  #failures = 0;
  #heardAt = Number.NEGATIVE_INFINITY;

  constructor(options: UpstreamServerOptions) {
    const { url, key, headers = {}, secrets = [], timeouts } = options;
    const { host, hostname } = new URL(url);
    this.#options = options;
    this.host = host.replace(LOOPBACK, 'localhost');
    this.#http = new UpstreamHttp({ url, key, headers, timeouts });
    this.#secrets = [key ?? '', host, hostname, ...secrets];
    this.#now = options.now ?? (() => performance.now());
  }

  /** Why it refuses streams. */
  get unstreamed(): UpstreamError | null {
    return this.#dialect?.unstreamed ?? null;
  }

  /** `null` until it has answered. */
  get capabilities(): Capabilities | null {
    return this.#dialect?.capabilities ?? null;
  }

  /** Error of the last request, `null` if it went well, was refused or was cancelled. */
  get lastError(): UpstreamError | null {
    return this.#lastError;
  }

  /** Whether it has answered and was there since; how answers ended does not count. */
  get reachable(): boolean {
    return this.#reachable;
  }

  /** Whether it is time to ask it what it can do: nothing is known, or it could not be reached since. */
  get due(): boolean {
    return this.#doubted && this.#probing === null && this.#now() >= this.#againAt;
  }

  /** Whether nothing was heard of it for a while: it is there as far as anybody knows. */
  get quiet(): boolean {
    return this.#reachable && !this.#doubted && this.#now() >= this.#heardAt + QUIET_MS;
  }

  /**
   * Finds out whether a quiet server is still there: any answer will do, so that it has nothing to compute. One that
   * cannot be reached is due from then on.
   * @throws UpstreamError
   */
  async check(): Promise<void> {
    this.#heardAt = this.#now(); // the answer may take longer than until the next look
    try {
      (await this.#http.get('/models', this.#closing.signal)).leave();
    } catch (error) {
      throw this.#note(error);
    }
  }

  /** Whether the server has its API below `/v1` of the configured address, which does not end so. */
  async lacksVersion(): Promise<boolean> {
    if (/\/v1\/?$/.test(new URL(this.#options.url).pathname)) return false;
    try {
      const answer = await this.#http.get('/v1/models', this.#closing.signal);
      answer.leave();
      return answer.status < 300 || answer.status === 401 || answer.status === 403;
    } catch {
      return false;
    }
  }

  /**
   * Capabilities of the server; probes it unless they are known. Callers at the same time share one probe. If
   * a server refuses the simplest request, that result holds for a while.
   * @throws UpstreamError
   */
  async probe(): Promise<Capabilities> {
    return (await this.#known()).capabilities;
  }

  /**
   * Asks the server what it can do, whatever is known.
   * @throws UpstreamError
   */
  async renew(): Promise<Capabilities> {
    return (await this.#probe()).capabilities;
  }

  /** Whether the server has a way to go on with a text of which this is known. `false` until it was probed. */
  canContinue(prefix: NonNullable<UpstreamRequest['prefix']>): boolean {
    return this.#dialect !== null && wayOf(this.#dialect, prefix) !== null;
  }

  /**
   * Resolves with the first byte of an answer; before that nothing has been written and another server may be asked.
   * @throws UpstreamError; what the signal is aborted with
   */
  async open(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamResponse> {
    const dialect = await this.#known();
    const { verbatim = false, unstreamed = dialect.unstreamed } = request;
    const asked = callOf(this.#options.model, request, dialect);
    const call = { ...asked, body: withExactFields(asked.body, request.exact ?? {}) };
    try {
      const exchange = await this.#send(call, signal, traceHeaders(request.trace));
      const answer = new StreamedResponse(exchange, this.#reader(exchange, call), {
        lags: request.stop.length > 0,
        verbatim,
        warnings: verbatim || !unstreamed ? [] : [atOnce(unstreamed, request)],
        seam: seamOf(dialect, request.prefix),
        failed: (error) => {
          if (error instanceof UpstreamError) this.#lastError = error;
        },
      });
      // Ids of the prompt stand in the first chunk.
      if (dialect.capabilities.tokenIds === 'return_token_ids') await answer.readAhead();
      this.#answers();
      return answer;
    } catch (error) {
      throw this.#note(withoutPath(error, request));
    }
  }

  /**
   * Sends a request as it came, but for the model's name. Whatever the server answers is an answer, unless it does not
   * know us: that is no business of a client's.
   * @throws UpstreamError where it does not answer, `upstream_unauthorized`; what the signal is aborted with
   */
  async forward({ body, ...request }: ForwardedRequest, signal: AbortSignal): Promise<Exchange> {
    const bytes =
      body instanceof Uint8Array
        ? body
        : Buffer.from(jsonText(withExactFields({ ...body, model: this.#options.model }, exactOf(body))));
    try {
      const exchange = await this.#http.forward(request, bytes, signal);
      if (exchange.status < 200 || exchange.status > 599) {
        exchange.cancel();
        throw new UpstreamError('upstream_error', 'the upstream sent a status that there is none of');
      }
      if (exchange.status !== 401 && exchange.status !== 403) return exchange;
      exchange.cancel();
      throw await refusalOf(exchange, { secrets: this.#secrets, now: Date.now() });
    } catch (error) {
      throw this.#note(error);
    }
  }

  /** Ends what is under way. */
  close(): void {
    this.#closing.abort(new UpstreamError('upstream_error', 'the gateway is shutting down'));
    this.#http.close();
  }

  async #known(): Promise<Dialect> {
    if (this.#dialect) return this.#dialect;
    if (this.#refusal && this.#now() < this.#againAt) throw this.#refusal;
    return this.#probe();
  }

  #probe(): Promise<Dialect> {
    this.#probing ??= this.#findOut().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  async #findOut(): Promise<Dialect> {
    this.#probedAt = this.#now();
    try {
      const { dialect, interrupted } = await probe(this.#options.model, (call) => this.#ask(call));
      this.#answers();
      this.#lastError = interrupted;
      this.#refusal = null;
      this.#doubted = interrupted !== null;
      if (!interrupted) this.#failures = 0;
      this.#postpone(interrupted, interrupted ? 2 ** this.#failures++ : 1);
      // The whole of what was known is better than a part of what holds now.
      if (!interrupted || !this.#dialect) this.#dialect = dialect;
      return this.#dialect;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const refused = error.code === 'upstream_refused';
      // The failure is not the client's.
      const message = error.message.replace(REFUSED, 'refuses the simplest request');
      const reported = refused
        ? new UpstreamError('upstream_error', message, { reason: error.reason ?? 'refused' })
        : error;
      this.#refusal = refused ? reported : null;
      this.#postpone(reported, refused ? 2 ** this.#failures++ : 1);
      throw this.#note(reported);
    }
  }

  #postpone(error: UpstreamError | null, times: number): void {
    const ms = Math.max(AGAIN_MS * times, (error?.askedWaitS ?? 0) * 1000);
    this.#againAt = this.#now() + Math.min(MAX_AGAIN_MS, ms);
  }

  async #ask(call: Call): Promise<Chunk[]> {
    const exchange = await this.#send(call, this.#closing.signal);
    try {
      const reader = this.#reader(exchange, call);
      const chunks: Chunk[] = [];
      for (let more = await reader.read(); more; more = await reader.read()) chunks.push(...more);
      return chunks;
    } catch (error) {
      exchange.cancel();
      throw error;
    }
  }

  async #send(
    { path, body, form: { whole } }: Call,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Exchange> {
    const exchange = await this.#http.post(path, body, signal, { headers, whole });
    const problem =
      exchange.status === 200
        ? problemOf(exchange, whole)
        : await refusalOf(exchange, { secrets: this.#secrets, now: Date.now() });
    if (!problem) return exchange;
    exchange.cancel();
    throw problem;
  }

  #reader(exchange: Exchange, call: Pick<Call, 'form'>): ChunkReader {
    return new ChunkReader(exchange, call.form, (message) =>
      refusalWithin(message, { secrets: this.#secrets }),
    );
  }

  #answers(): void {
    this.#reachable = true;
    this.#heardAt = this.#now();
    this.#lastError = null;
  }

  /** Notes the error of a request that got no answer. */
  #note(error: unknown): unknown {
    if (!(error instanceof UpstreamError)) return error;
    if (error.code === 'upstream_refused') {
      this.#answers();
      // Mostly that is the client's fault.
      this.#doubted ||= this.#now() >= this.#probedAt + PROBED_MS;
    } else this.#lastError = error;
    if (UNREACHED.has(error.code)) {
      this.#reachable = false;
      this.#doubted = true;
    }
    return error;
  }
}

const REFUSED = 'refused the request';

/** Under a lock, without words of a server that may quote the request. */
const atOnce = ({ message, reason }: UpstreamError, { knownOnly, unstreamed }: UpstreamRequest): string =>
  `the answer comes at once, after all of it was written, as no stream of it is to be had: ${
    knownOnly && unstreamed ? reason : message
  }`;

/** A server need not have more than chats: that is no fault of it. */
function withoutPath(error: unknown, { prompt, isResponse }: UpstreamRequest): unknown {
  const path = isResponse ? '/v1/responses' : prompt === undefined ? null : '/v1/completions';
  if (path === null || !(error instanceof UpstreamError) || error.code !== 'upstream_not_found') return error;
  const message = `the upstream does not know ${path}, or the model there; use /v1/chat/completions`;
  return new UpstreamError('upstream_refused', message, { reason: error.reason ?? '' });
}

/** Error for an answer of another form than was asked for, such as a page, or a compressed one. */
function problemOf(exchange: Exchange, whole: boolean): UpstreamError | null {
  const [type = ''] = (exchange.header('content-type') ?? '').split(';');
  const encoding = exchange.header('content-encoding') ?? 'identity';
  const expected = whole ? 'application/json' : 'text/event-stream';
  if (type.trim().toLowerCase() === expected && encoding === 'identity') return null;
  const form = whole ? 'JSON' : 'a stream';
  return new UpstreamError('upstream_error', `the upstream did not answer with ${form}`);
}
