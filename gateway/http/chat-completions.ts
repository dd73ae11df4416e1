import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { GuardEvent, Verdict } from '../../src/stream/events.js';
import { ANONYMOUS, type Principal } from '../access/principal.js';
import type { Config } from '../config/config.js';
import { ApiError } from '../errors/api-error.js';
import type { Encoding, LiveGeneration, Sink } from '../generations/live-generation.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import type { Metrics } from '../metrics/metrics.js';
import type { GovernedModels } from '../models/governed-models.js';
import type { Prepared } from '../models/served-model.js';
import { type ChatRequest, chatSchema, parse } from '../requests/generation-request.js';
import { Completion } from './completion.js';
import { SseSink, sseEvent } from './sse.js';
import { VerbatimEncoding, wholeVerbatim } from './verbatim.js';

export interface ChatOptions {
  readonly models: GovernedModels;
  readonly live: LiveGenerations;
  readonly settings: Pick<Config, 'streams'>;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'resumed'>;
}

/**
 * `POST /v1/chat/completions`, streamed or whole. A client that goes away cancels its generation, unless it asked that
 * it can be resumed; then the same request with `Last-Event-ID` goes on. Who asks is `res.locals.principal`.
 */
export function chatCompletions({ models, ...resuming }: ChatOptions): RequestHandler {
  const { live, settings, logger } = resuming;
  return async (req, res, next) => {
    if (req.headers['last-event-id'] !== undefined) return goOn(resuming, req, res, next);
    const request = parse(chatSchema, req.body);
    res.locals.model = models.named(request.model);
    const id = `chatcmpl-${randomUUID()}`;
    res.locals.responseId = id;
    const principal = principalOf(res);
    const generation = await live.open({
      id,
      principal,
      logger: logger.child({ request_id: res.locals.requestId, principal: principal.name }),
      resumable: request.resumable === true,
      prepare: () => {
        const { name } = principal;
        return models.prepare(request, {
          principal: name,
          canRetract: false,
          verbatim: true,
          responseId: id,
        });
      },
      encode: (prepared) => {
        if (prepared.verbatim) return verbatim(id, request, prepared, live.epoch);
        const completion = completionOf(id, request, prepared);
        return request.stream ? new ChunkEncoding(completion, `${live.epoch}/${id}`) : whole(completion, res);
      },
    });
    if (res.destroyed) return generation.discard(); // a large model's embeddings take their time to be read
    const sink = request.stream
      ? new SseSink(res, generation, settings.streams, next)
      : jsonSink(res, generation, next);
    generation.start(sink);
  };
}

/** `GET /v1/chat/completions/:id` with `Last-Event-ID`: the rest of a streamed completion. */
export function resumeCompletion(options: Omit<ChatOptions, 'models'>): RequestHandler {
  return (req, res, next) => goOn(options, req, res, next);
}

function goOn(
  { live, settings, metrics }: Omit<ChatOptions, 'models'>,
  req: Request,
  res: Response,
  next: NextFunction,
): void {
  const { offset, ...point } = resumePoint(req);
  const generation = live.find(point, principalOf(res));
  const sink = generation && new SseSink(res, generation, settings.streams, next);
  const recovered = generation !== null && sink !== null && generation.attach(sink, offset);
  metrics.resumed(recovered);
  if (generation) res.locals.responseId = generation.id;
  if (!recovered) {
    throw new ApiError(410, 'not_recovered', `${LAST_EVENT_ID}: the events after it are no longer kept`);
  }
  sink.open();
  generation.resume(sink);
}

const LAST_EVENT_ID = 'Last-Event-ID';

function resumePoint({ headers, params }: Request) {
  const problem = (text: string) =>
    new ApiError(400, 'invalid_value', `${LAST_EVENT_ID}: ${text}`, LAST_EVENT_ID);
  const [, epoch, id, offset] =
    /^([\w-]+)\/(chatcmpl-[\w-]+)\/(\d{1,15})$/.exec(String(headers['last-event-id'] ?? '')) ?? [];
  if (!epoch || !id || !offset) throw problem('must be the id of an event of a streamed completion');
  if (params.id !== undefined && params.id !== id) throw problem(`is not of ${params.id}`);
  return { epoch, id, offset: Number(offset) + 1 };
}

function principalOf(res: Response): Principal {
  return res.locals.principal ?? ANONYMOUS;
}

function completionOf(id: string, request: ChatRequest, prepared: Prepared): Completion {
  const { model, vocabulary, guard, scoredAtOnce } = prepared;
  const logprobs = request.logprobs === true;
  const includeUsage = request.stream_options?.include_usage === true;
  return new Completion({ id, model, vocabulary, guard, logprobs, includeUsage, scoredAtOnce });
}

function verbatim(id: string, request: ChatRequest, { model, guard }: Prepared, epoch: string): Encoding {
  const includeUsage = request.stream_options?.include_usage === true;
  const options = { id, model, guard, includeUsage };
  return request.stream ? new VerbatimEncoding(options, `${epoch}/${id}`) : wholeVerbatim(options);
}

/** A completion as chunks. Until the first event an error is a plain response; from then on there is no `[DONE]`. */
class ChunkEncoding implements Encoding {
  readonly #completion: Completion;
  readonly #place: string;

  constructor(completion: Completion, place: string) {
    this.#completion = completion;
    this.#place = place;
  }

  opening(): string[] {
    return [];
  }

  event(event: GuardEvent, offset: number): string[] {
    const chunks: unknown[] = this.#completion.chunks(event);
    if (offset === 0) chunks.unshift(this.#completion.opening());
    if (event.type === 'generation.done') chunks.push('[DONE]');
    return chunks.map((chunk, i) => sseEvent(chunk, `${this.#place}/${offset + i}`));
  }

  cancelled(): string[] {
    return []; // only by going away
  }

  failed({ body }: ApiError, offset: number): string[] {
    return [sseEvent({ error: body }, `${this.#place}/${offset}`)];
  }
}

/** A completion as one frame, once all of it is there; its verdict is also told in headers. */
function whole(completion: Completion, res: Response): Encoding {
  const events: GuardEvent[] = [];
  return {
    opening: () => [],
    event: (event) => {
      events.push(event);
      if (event.type !== 'generation.done') return [];
      res.set(verdictHeaders(event.verdict));
      return [JSON.stringify(completion.whole(events))];
    },
    cancelled: () => [],
    failed: () => [],
  };
}

function verdictHeaders(verdict?: Verdict): Record<string, string> {
  const { flagged = null, risk = null } = verdict ?? {};
  return {
    'x-flinch-flagged': String(flagged ?? 'unknown'),
    ...(risk !== null && { 'x-flinch-risk': String(risk) }),
  };
}

function jsonSink(res: Response, generation: LiveGeneration, refused: (error: unknown) => void): Sink {
  const sink: Sink = {
    send: (frame) => {
      // Also without a guard: what is not scored is not unflagged.
      if (!res.hasHeader('x-flinch-flagged')) res.set(verdictHeaders());
      res.type('json').send(frame);
    },
    ended: () => {},
    refused,
    replaced: () => {},
  };
  res.on('close', () => generation.detach(sink));
  return sink;
}
