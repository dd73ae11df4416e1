import { randomUUID } from 'node:crypto';
import type { Context } from '@opentelemetry/api';
import type { RawData, WebSocket } from 'ws';
import type { Principal } from '../access/principal.js';
import { answer } from '../answers/answering.js';
import { ApiError, toApiError } from '../errors/api-error.js';
import { OWN_FAULTS } from '../errors/codes.js';
import { Backlog } from '../generations/backlog.js';
import type { Resumed } from '../generations/elsewhere.js';
import { Heartbeat } from '../generations/heartbeat.js';
import type { LiveGeneration, ReadGeneration, Sink } from '../generations/live-generation.js';
import {
  appendSchema,
  cancelSchema,
  createSchema,
  type GenerationFields,
  parse,
  resumeSchema,
  scoreSchema,
} from '../requests/generation-request.js';
import { GivenText } from '../requests/given-text.js';
import { parseJsonText } from '../requests/request-text.js';
import type { Serving } from '../serving.js';
import { CLOSE_CODES, type CloseCode, isFinal, isMeant } from './close-codes.js';
import { StreamEncoding } from './encoding.js';
import { SocketWatch } from './socket-watch.js';

export interface StreamOptions
  extends Pick<Serving, 'models' | 'answering' | 'live' | 'settings' | 'metrics' | 'logger'> {
  readonly principal: Principal;
  /** The trace that all its generations belong to. */
  readonly trace: Context;
}

const CLIENT_TYPES =
  'generation.create, generation.score, generation.append, generation.resume or generation.cancel';
/** Prefix of the ids of these generations: those of Server-Sent Events have frames of another kind. */
const ID_PREFIX = 'resp-';
/** A close frame waits behind all else that the client does not read. */
const GOODBYE_MS = 1000;

interface Attached {
  readonly generation: ReadGeneration;
  readonly sink: Sink;
  /** Text that this connection gives it. */
  readonly given?: GivenText | undefined;
}

/** Request of a client, for either a generation or a given text. */
interface ClientRequest {
  readonly fields: GenerationFields;
  readonly requestId: string | undefined;
  readonly resumable: boolean;
  readonly given?: GivenText;
}

/** Subject of an error: a request that was refused, or a generation. */
interface Subject {
  readonly request_id?: string;
  readonly response_id?: string;
}

/** One WebSocket connection and the generations that it reads (PROTOCOL.md). */
export class StreamConnection {
  readonly #socket: WebSocket;
  readonly #options: StreamOptions;
  readonly #attached = new Map<string, Attached>();
  readonly #backlog: Backlog;
  readonly #heartbeat: Heartbeat;
  readonly #watch: SocketWatch;
  /** Generations that were accepted and wait for their settings. */
  #preparing = 0;
  #left = false;

  constructor(socket: WebSocket, options: StreamOptions) {
    this.#socket = socket;
    this.#options = options;
    const { bounds, streams } = options.settings;
    const { heartbeatMs, queueBytes } = bounds;
    this.#backlog = new Backlog({
      limitBytes: queueBytes,
      stallMs: 1000 * streams.stall_s,
      waiting: () => socket.bufferedAmount,
      pause: () => this.#pause(),
      resume: () => this.#resume(),
      stalled: () => this.#close(CLOSE_CODES.slowReader, `nothing was read for ${streams.stall_s} s`),
    });
    this.#heartbeat = new Heartbeat(heartbeatMs, () => this.#beat());
    this.#watch = new SocketWatch(socket, bounds, {
      stalled: () => this.#backlog.full,
      close: (code, reason) => this.#close(code, reason),
    });
    socket.on('message', (data, isBinary) => {
      this.#watch.heard();
      if (this.#watch.counted()) this.#receive(data, isBinary);
    });
    socket.on('error', (error) => {
      options.logger.debug({ err: error }, 'socket error');
      // After an invalid frame, ws closes the connection by itself.
      if ('code' in error && String(error.code).startsWith('WS_ERR_')) this.#leave(true);
    });
    socket.on('close', (code) => this.#leave(isMeant(code)));
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (isBinary) {
      this.#close(CLOSE_CODES.unsupportedData, 'messages must be JSON text');
      return;
    }
    let message: unknown;
    try {
      message = parseJsonText(data.toString(), 'message');
      const type = typeOf(message);
      if (type === 'generation.create') this.#create(message, sizeOf(data));
      else if (type === 'generation.score') this.#score(message, sizeOf(data));
      else if (type === 'generation.append') this.#append(message);
      else if (type === 'generation.resume') this.#continue(message);
      else if (type === 'generation.cancel') this.#cancel(message);
      else throw new ApiError('invalid_message', `type: must be ${CLIENT_TYPES}`, 'type');
    } catch (error) {
      this.#refuse(error, message, sizeOf(data));
    }
  }

  /** Refuses a message. It was read all the same: a client that sends many such messages is disconnected. */
  #refuse(error: unknown, message: unknown, bytes: number): void {
    this.#sendError(error, requestIdOf(message), this.#modelOf(message));
    if (toApiError(error).status >= 500) return;
    this.#options.principal
      .refused?.(bytes)
      .catch((tooMany: unknown) =>
        this.#close(CLOSE_CODES.tooManyMessages, toApiError(tooMany).body.message),
      );
  }

  /** @param bytes of the message */
  #create(message: unknown, bytes: number): void {
    const fields = parse(createSchema, message);
    const { request_id: requestId, resumable } = fields;
    this.#open({ fields, requestId, resumable: resumable === true }, message, bytes);
  }

  /** @param bytes of the message */
  #score(message: unknown, bytes: number): void {
    const { type: _, request_id: requestId, ...fields } = parse(scoreSchema, message);
    const given = new GivenText(this.#options.settings.limits.prompt_characters);
    this.#open({ fields, requestId, resumable: false, given }, message, bytes);
  }

  #open({ fields, requestId, resumable, given }: ClientRequest, message: unknown, bytes: number): void {
    this.#checkRoom();
    const { answering, live, principal, logger, trace } = this.#options;
    const id = `${ID_PREFIX}${randomUUID()}`;
    const by = { principal: principal.name, client: principal.client, responseId: id, trace };
    const how = { canRetract: true, stream: true, announced: true, ...(given && { given }) };
    this.#preparing += 1;
    live
      .open({
        id,
        principal,
        resumable,
        requestId,
        logger,
        over: ({ model, outcome }, complete) =>
          logger.info({ response_id: id, model, complete, ...outcome.fields }, 'generation'),
        prepare: () => answer({ fields, ...by, ...how }, answering),
        encode: (own, kept) =>
          new StreamEncoding({ id, requestId, epoch: live.epoch, resumable: kept, answer: own }),
      })
      .finally(() => {
        this.#preparing -= 1;
      })
      .then((generation) => this.#start(generation, given))
      .catch((error: unknown) => this.#refuse(error, message, bytes));
  }

  #start(generation: LiveGeneration, given?: GivenText): void {
    if (this.#left) {
      generation.discard();
      return;
    }
    const sink = this.#sinkOf(generation);
    this.#attached.set(generation.id, { generation, sink, given });
    generation.start(sink, this.#backlog.full);
  }

  #continue(message: unknown): void {
    const { response_id: id, epoch, offset, request_id } = parse(resumeSchema, message);
    // The generation may be one of this connection's own, of which the client wants some frames again.
    const own = this.#attached.get(id);
    if (own) {
      this.#attached.delete(id);
      own.generation.detach(own.sink);
    } else {
      this.#checkRoom();
    }
    const { live, principal, metrics } = this.#options;
    const point = { id, epoch, offset };
    const resumed = id.startsWith(ID_PREFIX)
      ? live.resume(point, principal, (generation) => this.#sinkOf(generation))
      : null;
    const echo = request_id === undefined ? {} : { request_id };
    const answer = (found: Resumed<Sink> | null): void => {
      metrics.resumed(found !== null);
      const recovered = found !== null;
      this.#sendJson({ type: 'generation.resumed', response_id: id, ...echo, recovered });
      if (!found) {
        own?.generation.discard();
      } else if (this.#left) {
        found.generation.detach(found.sink);
      } else {
        this.#attached.set(id, found);
        if (!this.#backlog.full) found.generation.resume(found.sink);
      }
    };
    if (!(resumed instanceof Promise)) {
      answer(resumed);
      return;
    }
    this.#preparing += 1;
    resumed
      .finally(() => {
        this.#preparing -= 1;
      })
      .then(answer)
      .catch((error: unknown) => this.#sendError(error, { response_id: id, ...echo }));
  }

  #cancel(message: unknown): void {
    const { response_id: id } = parse(cancelSchema, message);
    this.#running(id).generation.cancel();
  }

  #append(message: unknown): void {
    const { response_id: id, text, end } = parse(appendSchema, message);
    const { given } = this.#running(id);
    if (!given) {
      const problem = `response_id: ${id} was not started by generation.score`;
      throw new ApiError('invalid_value', problem, 'response_id');
    }
    given.append(text);
    if (end) given.end();
  }

  #running(id: string): Attached {
    const attached = this.#attached.get(id);
    if (attached && !attached.generation.over) return attached;
    const text = `response_id: generation ${id} is not running on this connection`;
    throw new ApiError('unknown_response', text, 'response_id');
  }

  #checkRoom(): void {
    const most = this.#options.settings.bounds.generations;
    if (this.#attached.size + this.#preparing < most) return;
    throw new ApiError('too_many_generations', `at most ${most} concurrent generations per connection`);
  }

  #sinkOf({ id, model }: Pick<LiveGeneration, 'id' | 'model'>): Sink {
    return {
      send: (frame) => this.#send(frame),
      ended: () => this.#attached.delete(id),
      refused: (error) => {
        this.#attached.delete(id);
        this.#sendError(error, { response_id: id }, model);
      },
      lost: (error) => {
        this.#attached.delete(id);
        this.#sendError(error, { response_id: id }, model);
      },
    };
  }

  #sendError(error: unknown, about: Subject, model?: string): void {
    const { body } = toApiError(error);
    const { metrics, logger } = this.#options;
    metrics.refused(body.code, model);
    const fields = { response_id: about.response_id, code: body.code };
    if (OWN_FAULTS.has(body.code)) logger.error({ ...fields, err: error }, 'request failed');
    else logger.info(fields, 'request refused');
    this.#sendJson({ type: 'error', ...about, error: body });
  }

  /** Model that is asked for, if it is one of those that are served. */
  #modelOf(message: unknown): string | undefined {
    if (typeof message !== 'object' || message === null || !('model' in message)) return undefined;
    return typeof message.model === 'string' ? this.#options.models.named(message.model) : undefined;
  }

  #sendJson(event: object): void {
    this.#send(JSON.stringify(event));
  }

  #send(frame: string): void {
    if (this.#left || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#heartbeat.sent();
    this.#socket.send(frame, this.#taken);
    this.#backlog.grown();
  }

  readonly #taken = (): void => this.#backlog.shrunk();

  /** The client does not read: nothing more is generated for it, and nothing more is taken from it. */
  #pause(): void {
    for (const { generation, sink } of this.#attached.values()) generation.pause(sink);
    this.#socket.pause();
  }

  #resume(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.resume();
    this.#watch.heard(); // answers may have waited, too
    for (const { generation, sink } of [...this.#attached.values()]) {
      if (this.#backlog.full) return;
      generation.resume(sink);
    }
  }

  /** Sends a sign of life to clients that see no pings, such as pages. */
  #beat(): void {
    if (!this.#backlog.full) this.#sendJson({ type: 'heartbeat' });
  }

  #close(code: CloseCode, reason: string): void {
    this.#leave(isFinal(code));
    this.#socket.close(code, reason);
    const timer = setTimeout(() => this.#socket.terminate(), GOODBYE_MS).unref();
    this.#socket.once('close', () => clearTimeout(timer));
  }

  #leave(cancels: boolean): void {
    if (this.#left) return;
    this.#left = true;
    this.#heartbeat.stop();
    this.#watch.stop();
    this.#backlog.close();
    for (const { generation, sink } of [...this.#attached.values()]) {
      if (cancels) generation.discard();
      else generation.detach(sink);
    }
    this.#attached.clear();
  }
}

/** All parts of a message together. */
const sizeOf = (data: RawData): number =>
  Array.isArray(data) ? data.reduce((sum, { length }) => sum + length, 0) : data.byteLength;

function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}

/** The client's name for a request that was refused, if it is fit to be echoed. */
function requestIdOf(message: unknown): { request_id?: string } {
  if (typeof message !== 'object' || message === null || !('request_id' in message)) return {};
  const { request_id } = message;
  return typeof request_id === 'string' && request_id.length <= 128 ? { request_id } : {};
}
