import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Verdict } from '../../src/stream/events.js';
import { adviceOf } from '../../src/stream/wire.js';
import type { Principal } from '../access/principal.js';
import { answer } from '../answers/answering.js';
import type { AnswerRequest } from '../answers/asked.js';
import { ApiError } from '../errors/api-error.js';
import type { Encoding, LiveGeneration, Sink } from '../generations/live-generation.js';
import { EVENT_ID } from '../requests/event-id.js';
import type { Serving } from '../serving.js';
import { countedTrace } from '../tracing/trace-context.js';
import { type Answered, answered } from './said-guard.js';
import { SseSink } from './sse.js';

/** One of OpenAI's APIs that write a text. */
export interface GenerationApi {
  /** Prefix of the ids of its answers. */
  readonly prefix: string;
  /** @throws ApiError 400 for a body that is no request */
  read(body: unknown): ApiRequest;
}

/** A request, as models and transports take it. */
export interface ApiRequest extends Pick<AnswerRequest, 'fields' | 'names' | 'prompt' | 'response'> {
  readonly stream: boolean;
  readonly resumable: boolean;
  /** Whether its encoding keeps all events to the end. */
  readonly kept: boolean;
  encode(answered: Answered, about: AnswerEncoding): Encoding;
}

/** How an answer is encoded. */
export interface AnswerEncoding {
  readonly id: string;
  /** Prefix of the offsets of its events. */
  readonly idPrefix: string;
  /** Writes the verdict into the headers of an answer that is not streamed. */
  readonly tell: (verdict: Verdict | undefined) => void;
}

/**
 * `POST` of an API, streamed or whole. A client that goes away cancels its generation, unless it asked that
 * it can be resumed; then the same request with `Last-Event-ID` goes on. The client is
 * `res.locals.principal`.
 */
export function createGeneration(api: GenerationApi, serving: Serving): RequestHandler {
  const { models, answering, live, settings, logger, metrics } = serving;
  return async (req, res, next) => {
    if (req.headers['last-event-id'] !== undefined) return resumeStream(api, serving, req, res, next);
    const { encode, resumable, ...request } = api.read(req.body);
    res.locals.model = models.named(request.fields.model);
    const id = `${api.prefix}${randomUUID()}`;
    res.locals.responseId = id;
    const principal = principalOf(res);
    const trace = countedTrace(req.headers, metrics);
    const generation = await live.open({
      id,
      principal,
      logger: logger.child({ request_id: res.locals.requestId, principal: principal.name }),
      resumable,
      prepare: () => {
        const { name, client } = principal;
        const by = { principal: name, client, responseId: id, trace };
        return answer({ ...request, ...by, canRetract: false, verbatim: true }, answering);
      },
      encode: (own) =>
        encode(answered(own), {
          id,
          idPrefix: `${live.epoch}/${id}`,
          tell: (verdict) => res.set(verdictHeaders(verdict)),
        }),
    });
    res.locals.outcome = generation.outcome;
    if (res.destroyed) return generation.discard(); // a large model's embeddings take their time to be read
    if (resumable) res.set('x-flinch-resumable', String(generation.resumable));
    const sink = request.stream
      ? new SseSink(res, generation, settings, next)
      : jsonSink(res, generation, next);
    generation.start(sink);
  };
}

/** `GET` of an answer with `Last-Event-ID`: the rest of a stream. */
export function resumeGeneration(api: GenerationApi, serving: Serving): RequestHandler {
  return (req, res, next) => resumeStream(api, serving, req, res, next);
}

async function resumeStream(
  api: GenerationApi,
  { live, settings, metrics }: Serving,
  req: Request,
  res: Response,
  next: NextFunction,
): Promise<void> {
  const resumed = await live.resume(resumePoint(api, req), principalOf(res), (generation) => {
    res.locals.responseId = generation.id;
    return new SseSink(res, generation, settings, next);
  });
  metrics.resumed(resumed !== null);
  if (!resumed) {
    throw new ApiError('not_recovered', `${LAST_EVENT_ID}: the events after it are no longer kept`);
  }
  const { generation, sink } = resumed;
  if (res.destroyed) {
    generation.detach(sink); // another process took its time to answer
    return;
  }
  sink.open();
  generation.resume(sink);
}

const LAST_EVENT_ID = 'Last-Event-ID';

function resumePoint({ prefix }: GenerationApi, { headers, params }: Request) {
  const problem = (text: string) => new ApiError('invalid_value', `${LAST_EVENT_ID}: ${text}`, LAST_EVENT_ID);
  const [, epoch, id, offset] = EVENT_ID.exec(String(headers['last-event-id'] ?? '')) ?? [];
  if (!epoch || !id?.startsWith(prefix) || !offset)
    throw problem('must be the id of an event of such a stream');
  if (params.id !== undefined && params.id !== id) throw problem(`is not of ${params.id}`);
  return { epoch, id, offset: Number(offset) + 1 };
}

const principalOf = ({ locals }: Response): Principal => locals.principal;

function verdictHeaders(verdict?: Verdict): Record<string, string> {
  const { flagged = null, risk = null } = verdict ?? {};
  return {
    'x-flinch-advice': (verdict && adviceOf(verdict)) ?? 'unknown',
    'x-flinch-flagged': String(flagged ?? 'unknown'),
    ...(risk !== null && { 'x-flinch-risk': String(risk) }),
  };
}

/** Frames are parts of one JSON text. */
function jsonSink(res: Response, generation: LiveGeneration, refused: (error: unknown) => void): Sink {
  const parts: string[] = [];
  const sink: Sink = {
    send: (part) => {
      parts.push(part);
    },
    ended: () => {
      if (parts.length === 0) return;
      // This is set without a guard, too: an unscored answer does not count as clean.
      if (!res.hasHeader('x-flinch-flagged')) res.set(verdictHeaders());
      sendParts(res.type('json'), parts);
    },
    refused,
    lost: refused,
  };
  res.on('close', () => generation.detach(sink));
  return sink;
}

const PART_BYTES = 64 << 10;

/** Each in pieces, so that it shows whether the client reads. */
function sendParts(res: Response, parts: readonly string[]): void {
  const pieces = function* (): Generator<Buffer> {
    for (const part of parts) {
      const bytes = Buffer.from(part);
      for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
    }
  };
  const length = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  res.set('Content-Length', String(length));
  Readable.from(pieces()).pipe(res);
}
