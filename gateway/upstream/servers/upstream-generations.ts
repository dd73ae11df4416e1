import { catchError, defer, finalize, identity, map, type Observable, tap, throwError } from 'rxjs';
import type { GuardEvent } from '../../../src/stream/events.js';
import type { GuardInForce } from '../../models/served-model.js';
import { inSlot, type Slots } from '../../models/slots.js';
import type { Writing } from '../scoring/scorer.js';
import type { UpstreamRequest } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import type { Failover } from './failover.js';
import { knownFields } from './known-fields.js';
import { invalid, withTop } from './upstream-request.js';
import type { UpstreamServer } from './upstream-server.js';
import type { Opened } from './upstream-writer.js';

/**
 * Abort reason of requests whose generation has ended; made once, because each error records a stack trace.
 */
const OVER = new Error('the generation is over');

/** Request, and the servers that can answer it. */
interface Attempt {
  readonly asked: UpstreamRequest;
  readonly suits: (server: UpstreamServer) => boolean;
  /** Alternatives of each token that the client wants: the scores may need more. */
  readonly topLogprobs: number;
  readonly client: string;
}

/** Removes the server's message about a refused request, because it may quote the model's text. */
function withoutWords(error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'upstream_refused') return error;
  const { param } = error.body;
  const options = { reason: error.reason ?? '', ...(param !== null && { param }) };
  return new UpstreamError('upstream_refused', 'the upstream refused the request', options);
}

/** The generations that are under way at the servers of a model: each has a place, and is aborted when it is over. */
export class UpstreamGenerations {
  readonly #failover: Failover;
  readonly #slots: Slots;
  #streams = 0;

  constructor(failover: Failover, slots: Slots) {
    this.#failover = failover;
    this.#slots = slots;
  }

  /** Why none of the servers streams. */
  get unstreamed(): UpstreamError | null {
    const all = this.#failover.servers.flatMap(({ capabilities, unstreamed }) =>
      capabilities ? [unstreamed] : [],
    );
    return all.includes(null) ? null : (all[0] ?? null);
  }

  get streams(): number {
    return this.#streams;
  }

  /** @throws ApiError 400 where no server can go on with a text of which this is known */
  checkContinues({ action }: GuardInForce, prefix: NonNullable<UpstreamRequest['prefix']>): void {
    if (this.#failover.servers.some((server) => server.canContinue(prefix))) return;
    const problem = `${action} requires an upstream that can continue a text; this model has none`;
    throw invalid('guard.action', problem);
  }

  /** @returns events that are asked for when they are subscribed to; unsubscribing aborts */
  start(
    { asked, suits, topLogprobs, client }: Attempt,
    run: (writing: Pick<Writing, 'ask' | 'signal' | 'dispensable'>) => Observable<GuardEvent>,
  ): Observable<GuardEvent> {
    const written = inSlot(this.#slots, client, () => {
      const abort = new AbortController();
      let opened: Opened | null = null;
      const ask = async (): Promise<Opened> => {
        opened = await this.#failover.open(asked, abort.signal, suits);
        return opened;
      };
      // A continuation that the server does not write leaves the response that it has written as good as it was.
      const dispensable = (error: unknown): boolean => {
        if (!opened || !(error instanceof UpstreamError)) return false;
        this.#failover.failed(opened.server, error);
        return true;
      };
      return run({ ask, signal: abort.signal, dispensable }).pipe(
        asked.verbatim ? identity : map(withTop(topLogprobs)),
        asked.knownOnly
          ? map((event) => (event.type === 'upstream.delta' ? knownFields(event) : event))
          : identity,
        tap({
          error: (error: unknown) => {
            if (opened && error instanceof UpstreamError) this.#failover.failed(opened.server, error);
          },
        }),
        asked.knownOnly ? catchError((error: unknown) => throwError(() => withoutWords(error))) : identity,
        finalize(() => abort.abort(OVER)),
      );
    });
    // Those that wait for a place count, too.
    return defer(() => {
      this.#streams += 1;
      return written.pipe(
        finalize(() => {
          this.#streams -= 1;
        }),
      );
    });
  }
}
