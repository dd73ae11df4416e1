import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Capabilities, UpstreamRequest, UpstreamResponse } from '../upstream.js';
import { UpstreamError, type UpstreamErrorCode } from '../upstream-error.js';
import type { UpstreamServer } from './upstream-server.js';
import type { Opened } from './upstream-writer.js';

export interface FailoverOptions {
  readonly retries: number;
  readonly logger: Logger;
  /** Called with every fault, also if another try succeeds. */
  readonly failed?: (code: UpstreamErrorCode) => void;
  /** Waits for so many milliseconds; rejects when the signal is aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since any fixed moment. */
  readonly now?: () => number;
}

/** Worth another try: the server may answer the next time. */
const PASSING: ReadonlySet<UpstreamErrorCode> = new Set([
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_overloaded',
]);

const FIRST_WAIT_MS = 100;
/** Whatever a server asks for: a client waits meanwhile. */
const MAX_WAIT_MS = 2000;
/** A server that failed within this time is tried after the others. */
const AVOIDED_MS = 30_000;

const LACKING = 'the upstream has its API below /v1: add /v1 to its url (--upstream)';

/** How much longer than the first to answer the others may take to say what they can do. */
const GRACE_MS = 1000;

/** The servers of a model: the first that answers is used. */
export class Failover {
  readonly servers: readonly UpstreamServer[];
  readonly #options: Required<FailoverOptions>;
  /** Servers that failed, and until when they are avoided. */
  readonly #avoided = new Map<UpstreamServer, number>();
  #started: Promise<void> | null = null;

  constructor(servers: readonly UpstreamServer[], options: FailoverOptions) {
    this.servers = servers;
    this.#options = {
      wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
      now: () => performance.now(),
      failed: () => {},
      ...options,
    };
  }

  /** Why none of the servers streams. */
  get unstreamed(): UpstreamError | null {
    const all = this.servers.flatMap(({ capabilities, unstreamed }) => (capabilities ? [unstreamed] : []));
    return all.includes(null) ? null : (all[0] ?? null);
  }

  /**
   * Capabilities of the most able server that is available: most log-probabilities, then ways to continue a
   * text. A request that needs less goes to the others, too.
   * @throws UpstreamError of the last one, if none can be asked
   */
  async capabilities(): Promise<Capabilities> {
    const first = this.#started === null;
    this.#started ??= this.#begin();
    await this.#started;
    const servers = this.#order();
    const known = servers.filter((server) => server.capabilities);
    const there = known.filter((server) => server.reachable && !this.#isAvoided(server));
    const [best] = (there.length > 0 ? there : known)
      .flatMap(({ capabilities }) => capabilities ?? [])
      .toSorted(byAbility);
    if (best) return best;
    let last: unknown = null;
    for (const server of servers) {
      try {
        // The server was asked just now, and that may have taken long.
        if (first && server.lastError) throw server.lastError;
        return await server.probe();
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        this.#note(server, error);
        last = error;
      }
    }
    throw last;
  }

  /**
   * Opens an answer: up to its first byte every server is tried.
   * @param suits whether a server, which was probed, can do what the request needs
   * @throws UpstreamError of the last server; at once for a request that is refused
   */
  async open(
    request: UpstreamRequest,
    signal: AbortSignal,
    suits: (server: UpstreamServer) => boolean = () => true,
  ): Promise<Opened> {
    return this.first(signal, async (server) => {
      const answer = await this.#ask(server, request, signal, suits);
      return answer && { server, answer };
    });
  }

  /**
   * The answer of the first server that has one.
   * @param ask resolves with `null` where the server will not do
   * @throws UpstreamError of the last server; at once for a request that is refused
   */
  async first<T>(signal: AbortSignal, ask: (server: UpstreamServer) => Promise<T | null>): Promise<T> {
    let last: unknown = null;
    for (const server of this.#order()) {
      try {
        const answer = await this.#persist(server, () => ask(server), signal);
        // The server is not at fault.
        if (answer === null) continue;
        this.#avoided.delete(server);
        return answer;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'upstream_refused') {
          this.#avoided.delete(server);
          this.#options.failed(error.code);
          throw error;
        }
        this.#note(server, error);
        last = error;
      }
    }
    throw last ?? new UpstreamError('upstream_error', 'no upstream supports this request');
  }

  /** Notes a failure in the middle of an answer, which cannot be retried. */
  failed(server: Opened['server'], error: UpstreamError): void {
    const known = this.servers.find((other) => other === server);
    if (!known) return;
    // A request of a client may be the cause, which is no reason to avoid the server.
    if (error.code === 'upstream_refused') this.#tell(known, error);
    else this.#note(known, error);
  }

  /** Asks those servers what they can do that have not said, or are in doubt; failures are in the log and the status. */
  refresh(): void {
    for (const server of this.servers) {
      if (!server.due) continue;
      server.renew().then(
        (capabilities) => {
          const upstream = this.servers.indexOf(server);
          this.#options.logger.info({ upstream, capabilities }, 'upstream answers');
          const { lastError } = server;
          if (lastError) this.#warn(server, lastError, 'upstream capabilities were not all probed');
        },
        async (error: unknown) => {
          const notFound = error instanceof UpstreamError && error.code === 'upstream_not_found';
          const lacking = notFound && (await server.lacksVersion());
          this.#warn(server, error, lacking ? LACKING : 'upstream capabilities cannot be probed');
        },
      );
    }
  }

  /** The same, and asks those whether they are still there of which nothing was heard for a while. */
  look(): void {
    this.refresh();
    for (const server of this.servers) {
      if (!server.quiet) continue;
      server.check().catch((error: unknown) => this.#warn(server, error, 'upstream does not answer'));
    }
  }

  /** All at once; a server that does not answer is not waited for where another does. */
  async #begin(): Promise<void> {
    const probes = this.servers.map((server) => server.probe());
    const all = Promise.allSettled(probes);
    // If none answers, the next caller gets the error.
    await Promise.race([all, Promise.any(probes).catch(() => null)]);
    await Promise.race([all, setTimeout(GRACE_MS, undefined, { ref: false })]);
  }

  /** @returns `null` where the server will not do */
  async #ask(
    server: UpstreamServer,
    request: UpstreamRequest,
    signal: AbortSignal,
    suits: (server: UpstreamServer) => boolean,
  ): Promise<UpstreamResponse | null> {
    await server.probe();
    if (!suits(server)) return null;
    // While one request tries a server that failed, the others go elsewhere.
    if (this.#avoided.has(server)) this.#avoid(server);
    try {
      return await server.open(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof UpstreamError) || error.code !== 'upstream_refused') throw error;
      return this.#askForLess(server, request, error, signal);
    }
  }

  /**
   * What was refused, without what only the gateway has asked for, and a server may have refused: the stream of an answer
   * that the client wants whole, as vLLM does with `prompt_logprobs`; log-probabilities, as llama.cpp does with tools in
   * a stream. Such an answer is better late, or unscored, than refused.
   * @throws UpstreamError the last refusal
   */
  async #askForLess(
    server: UpstreamServer,
    request: UpstreamRequest,
    refusal: UpstreamError,
    signal: AbortSignal,
  ): Promise<UpstreamResponse> {
    const { fields = {}, prefix, verbatim, wholeWanted } = request;
    if (verbatim || prefix) throw refusal;
    let last = refusal;
    const whole = wholeWanted ? [{ ...request, unstreamed: refusal }] : [];
    const withoutLogprobs = [request, ...whole].map((each) => ({ ...each, withoutLogprobs: true as const }));
    for (const less of [...whole, ...withoutLogprobs]) {
      const { withoutLogprobs = false } = less;
      if (withoutLogprobs && (fields.logprobs || !/logprobs/i.test(last.message))) break;
      try {
        return await server.open(less, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'upstream_refused') last = error;
      }
    }
    throw last;
  }

  async #persist<T>(server: UpstreamServer, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { retries, wait } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        if (attempt >= retries || !(error instanceof UpstreamError) || !PASSING.has(error.code)) throw error;
        // After a timeout, the next server may be faster.
        if (error.code === 'upstream_timeout' && this.servers.length > 1) throw error;
        this.#note(server, error);
        await wait(waitMs(error, attempt), signal);
      }
    }
  }

  /**
   * Servers in the configured order, with exceptions: servers that failed recently come last, before them
   * those that have not yet reported their capabilities, or could not be reached: these are asked again
   * beside the requests, and come back once they answer.
   */
  #order(): UpstreamServer[] {
    const rank = (server: UpstreamServer): number => {
      if (this.#isAvoided(server)) return this.#avoided.get(server) ?? 0;
      if (!server.capabilities) return Number.MIN_SAFE_INTEGER;
      return server.reachable ? Number.NEGATIVE_INFINITY : Number.MIN_SAFE_INTEGER + 1;
    };
    const ranked = this.servers.map((server) => ({ server, rank: rank(server) }));
    return ranked
      .toSorted((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0))
      .map(({ server }) => server);
  }

  #isAvoided(server: UpstreamServer): boolean {
    return (this.#avoided.get(server) ?? Number.NEGATIVE_INFINITY) > this.#options.now();
  }

  /** For a while, unless it is. */
  #avoid(server: UpstreamServer): void {
    if (!this.#isAvoided(server)) this.#avoided.set(server, this.#options.now() + AVOIDED_MS);
  }

  #note(server: UpstreamServer, error: UpstreamError): void {
    this.#avoid(server);
    this.#tell(server, error);
  }

  #tell(server: UpstreamServer, error: UpstreamError): void {
    this.#options.failed(error.code);
    this.#warn(server, error, 'upstream failed');
  }

  /** The place in the configuration identifies the server: the log has no addresses. */
  #warn(server: UpstreamServer, error: unknown, message: string): void {
    const { logger } = this.#options;
    const upstream = this.servers.indexOf(server);
    if (error instanceof UpstreamError) logger.warn({ upstream, ...error.logged }, message);
    else logger.error({ err: error, upstream }, message);
  }
}

function byAbility(a: Capabilities, b: Capabilities): number {
  const difference = (b.logprobs ?? -1) - (a.logprobs ?? -1);
  return difference || Number(b.resume !== 'none') - Number(a.resume !== 'none');
}

/** Doubles with each attempt; as the server asks, within bounds. */
function waitMs({ askedWaitS }: UpstreamError, attempt: number): number {
  const ms = askedWaitS === null ? FIRST_WAIT_MS * 2 ** attempt : askedWaitS * 1000;
  return Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, ms));
}
