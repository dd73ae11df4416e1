import type { Logger } from 'pino';
import { UpstreamError } from '../errors.js';
import type { Failover } from './failover.js';

const LACKING = 'the upstream has its API below /v1: add /v1 to its url (--upstream)';

/** Watches the servers of a model: what they can do, and whether they are still there. */
export class UpstreamHealth {
  readonly #failover: Failover;
  readonly #logger: Logger;

  constructor(failover: Failover, logger: Logger) {
    this.#failover = failover;
    this.#logger = logger;
  }

  /** Asks those servers what they can do that have not said, or are in doubt; failures are in the log and the status. */
  refresh(): void {
    this.#failover.servers.forEach((server, upstream) => {
      if (!server.due) return;
      server.renew().then(
        (capabilities) => {
          this.#logger.info({ upstream, capabilities }, 'upstream answers');
          const { lastError } = server;
          if (lastError) this.#warn(upstream, lastError, 'upstream capabilities were not all probed');
        },
        (error: unknown) => this.#notProbed(upstream, error),
      );
    });
  }

  /** The same, and asks those whether they are still there of which nothing was heard for a while. */
  look(): void {
    this.refresh();
    this.#failover.servers.forEach((server, upstream) => {
      if (!server.quiet) return;
      server.check().catch((error: unknown) => this.#warn(upstream, error, 'upstream does not answer'));
    });
  }

  async #notProbed(upstream: number, error: unknown): Promise<void> {
    const notFound = error instanceof UpstreamError && error.code === 'upstream_not_found';
    const lacking = notFound && (await this.#failover.servers[upstream]?.lacksVersion());
    this.#warn(upstream, error, lacking ? LACKING : 'upstream capabilities cannot be probed');
  }

  #warn(upstream: number, error: unknown, message: string): void {
    if (error instanceof UpstreamError) {
      this.#logger.warn({ upstream, ...error.logged }, message);
    } else {
      this.#logger.error({ err: error, upstream }, 'probe failed');
    }
  }
}
