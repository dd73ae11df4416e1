import { randomInt } from 'node:crypto';
import { catchError, identity, type MonoTypeOperatorFunction, map, pipe, tap, throwError } from 'rxjs';
import type { Branch } from '../../../src/guard/branch.js';
import { retracts } from '../../../src/guard/guard.js';
import type { Judging } from '../../../src/guard/guarded-branch.js';
import type { GuardEvent } from '../../../src/stream/events.js';
import type { Asked } from '../../answers/asked.js';
import type { Guarding, Prepared } from '../../answers/served-model.js';
import type { Capabilities, UpstreamRequest } from '../upstream.js';
import { UpstreamError } from '../upstream-error.js';
import type { Failover } from './failover.js';
import { knownFields } from './known-fields.js';
import {
  invalid,
  isText,
  requestOf,
  tells,
  topLogprobsOf,
  topLogprobsWarnings,
  withTop,
} from './upstream-request.js';
import type { UpstreamServer } from './upstream-server.js';
import type { Opened } from './upstream-writer.js';

/** What servers are asked, and what becomes of the answer. */
export interface Question extends Pick<Prepared, 'vocabulary' | 'promptTokens' | 'form' | 'warnings'> {
  readonly guarding: Guarding | null;
  readonly request: UpstreamRequest;
  /** State of the text before it is written. */
  readonly prefix: NonNullable<UpstreamRequest['prefix']>;
  /** Whether a server returns what the scores need. */
  readonly suits: (server: UpstreamServer) => boolean;
  /** @param ask asks the servers */
  readonly open: (ask: () => Promise<Opened>, judging: Judging, signal: AbortSignal) => Promise<Branch>;
  /** Changes the events on their way to the client. */
  readonly told?: MonoTypeOperatorFunction<GuardEvent>;
}

const NO_ROLLBACKS =
  'steps are flagged and not written again: a response with tools, a response format or several choices is not continued, nor one of /v1/responses';

/** A request to the servers of a model. */
export class Asking {
  readonly failover: Failover;
  /** Capabilities of the most able server. */
  readonly capabilities: Capabilities;
  /** The request as the client has made it. */
  readonly request: UpstreamRequest;
  readonly #fields: Asked['fields'];

  /** @throws ApiError 400 if no server returns as many log-probabilities as are asked for */
  constructor(asked: Asked, failover: Failover, capabilities: Capabilities) {
    this.failover = failover;
    this.capabilities = capabilities;
    this.request = { ...requestOf(asked), topLogprobs: topLogprobsOf(asked.fields, capabilities) };
    this.#fields = asked.fields;
  }

  /** @throws ApiError 400 if steps are to be written again and no server can go on with such a text */
  prepare({ guarding, request, prefix, suits, open, told = identity, ...prepared }: Question): Prepared {
    const { failover } = this;
    // The scores may need more alternatives than the client wants.
    const { topLogprobs } = this.request;
    // With more than any server is known to return, each may refuse it.
    const least = Math.min(topLogprobs, this.capabilities.logprobs ?? 0);
    const { action = 'annotate' } = guarding?.guard ?? {};
    const isContinued = retracts(action) && !request.isResponse;
    const continues = (server: UpstreamServer): boolean => !isContinued || server.canContinue(prefix);
    if (!failover.servers.some(continues)) {
      const problem = `${action} requires an upstream that can continue a text; this model has none`;
      throw invalid('guard.action', problem);
    }
    const isAble = (server: UpstreamServer): boolean =>
      tells(server, least) && suits(server) && continues(server);
    let opened: Opened | null = null;
    /** @returns whether a server is at fault */
    const noted = (error: unknown): boolean => {
      if (!opened || !(error instanceof UpstreamError)) return false;
      failover.failed(opened.server, error);
      return true;
    };
    return {
      ...prepared,
      warnings: [
        ...prepared.warnings,
        ...topLogprobsWarnings(this.#fields, topLogprobs),
        ...(retracts(action) && !isText(request) ? [NO_ROLLBACKS] : []),
      ],
      seed: this.#fields.seed ?? randomInt(2 ** 31),
      open: (judging, signal) => {
        const ask = async (): Promise<Opened> => {
          opened = await failover.open(request, signal, isAble);
          return opened;
        };
        return open(ask, judging, signal);
      },
      // A continuation that the server does not write leaves the response that it has written as good as it was.
      dispensable: noted,
      told: pipe(
        told,
        request.verbatim ? identity : map(withTop(topLogprobs)),
        tap({ error: (error: unknown) => void noted(error) }),
        request.knownOnly ? onlyKnown : identity,
      ),
    };
  }
}

/** Leaves out what is not known: other fields, and the server's message about a refused request. */
const onlyKnown: MonoTypeOperatorFunction<GuardEvent> = pipe(
  map((event) => (event.type === 'upstream.delta' ? knownFields(event) : event)),
  catchError((error: unknown) => throwError(() => withoutWords(error))),
);

/** The message may quote the model's text. */
function withoutWords(error: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'upstream_refused') return error;
  const { param } = error.body;
  const options = { reason: error.reason ?? '', ...(param !== null && { param }) };
  return new UpstreamError('upstream_refused', 'the upstream refused the request', options);
}
