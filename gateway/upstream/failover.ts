import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { UpstreamError, type UpstreamErrorCode } from './errors.js';
import type { UpstreamServer } from './server.js';
import type { Capabilities, UpstreamRequest } from './upstream.js';
import type { Opened } from './upstream-branch.js';

export interface FailoverOptions {
  /** Further tries of each server. */
  readonly retries: number;
  readonly logger: Logger;
  /** Told of every fault, those that another try makes good among them. */
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

/** The servers of a model: the first that answers is used. */
export class Failover {
  readonly servers: readonly UpstreamServer[];
  readonly #options: Required<FailoverOptions>;
  readonly #failed = new Map<UpstreamServer, number>();

  constructor(servers: readonly UpstreamServer[], options: FailoverOptions) {
    this.servers = servers;
    this.#options = {
      wait: (ms, signal) => setTimeout(ms, undefined, { signal }),
      now: () => performance.now(),
      failed: () => {},
      ...options,
    };
  }

  /**
   * What the server can do that would be asked first.
   * @throws UpstreamError of the last one, if none can be asked
   */
  async capabilities(): Promise<Capabilities> {
    return this.#first((server) => server.probe());
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
    return this.#first(async (server) => {
      const answer = await this.#persist(
        server,
        async () => {
          await server.probe();
          return suits(server) ? server.open(request, signal) : null;
        },
        signal,
      );
      return answer && { server, answer };
    }, signal);
  }

  /** Notes a failure in the middle of an answer, which is nobody's to repeat. */
  failed(server: Opened['server'], error: UpstreamError): void {
    const known = this.servers.find((other) => other === server);
    if (known) this.#note(known, error);
  }

  /** @param ask gives `null` where the server is not at fault, but will not do */
  async #first<T>(ask: (server: UpstreamServer) => Promise<T | null>, signal?: AbortSignal): Promise<T> {
    let last: unknown = null;
    for (const server of this.#order()) {
      try {
        const answer = await ask(server);
        if (answer === null) continue;
        this.#failed.delete(server);
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof UpstreamError)) throw error;
        if (error.code === 'upstream_refused') {
          this.#options.failed(error.code);
          throw error;
        }
        this.#note(server, error);
        last = error;
      }
    }
    throw last ?? new UpstreamError('upstream_error', 'no upstream can do what is asked for');
  }

  async #persist<T>(server: UpstreamServer, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { retries, wait } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        if (attempt >= retries || !(error instanceof UpstreamError) || !PASSING.has(error.code)) throw error;
        this.#note(server, error);
        await wait(waitMs(error, attempt), signal);
      }
    }
  }

  /** As configured; what failed lately comes last, before it those that have not yet said what they can do. */
  #order(): UpstreamServer[] {
    const since = this.#options.now() - AVOIDED_MS;
    const rank = (server: UpstreamServer): number => {
      const failed = this.#failed.get(server);
      if (failed !== undefined && failed > since) return failed;
      return server.capabilities ? Number.NEGATIVE_INFINITY : Number.MIN_SAFE_INTEGER;
    };
    const ranks = new Map(this.servers.map((server) => [server, rank(server)]));
    return [...this.servers].sort((a, b) =>
      ranks.get(a)! < ranks.get(b)! ? -1 : ranks.get(a)! > ranks.get(b)! ? 1 : 0,
    );
  }

  #note(server: UpstreamServer, { code, reason }: UpstreamError): void {
    this.#failed.set(server, this.#options.now());
    this.#options.failed(code);
    // By its place in the configuration: the log has no addresses.
    this.#options.logger.warn({ upstream: this.servers.indexOf(server), code, reason }, 'upstream failed');
  }
}

/** Doubles with each attempt; as the server asks, within bounds. */
function waitMs({ askedWaitS }: UpstreamError, attempt: number): number {
  const ms = askedWaitS === null ? FIRST_WAIT_MS * 2 ** attempt : askedWaitS * 1000;
  return Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, ms));
}
