import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Subscription } from 'rxjs';
import type { RawData, WebSocket } from 'ws';
import { FlowGate } from '../src/stream/flow-gate.js';
import { eventFields, usageFields } from '../src/stream/wire.js';
import { ApiError, toApiError } from './errors.js';
import type { Models } from './models.js';
import { cancelSchema, createSchema, parse } from './request.js';
import type { Prepared } from './served-model.js';

export const SUBPROTOCOL = 'flinch.v1';
export const MAX_MESSAGE_BYTES = 1 << 20;

const MAX_GENERATIONS = 8;
/** Bytes that may wait for a client before its generations pause. */
const HIGH_WATER_BYTES = 256 << 10;

const CLIENT_TYPES = 'generation.create or generation.cancel';

/** Close codes, as PROTOCOL.md lists them. */
const UNSUPPORTED_DATA = 1003;

interface Running {
  readonly subscription: Subscription;
  /** Its own, for a stage that cannot keep up holds the gate and must not stop the others. */
  readonly gate: FlowGate;
  /** Says that it was cancelled; the caller unsubscribes. */
  readonly cancelled: () => void;
}

/** What an error is about: a request that was refused, or a generation that failed. */
interface Subject {
  readonly request_id?: string;
  readonly response_id?: string;
  readonly offset?: number;
}

/** One WebSocket connection and its generations (PROTOCOL.md). */
export class StreamConnection {
  readonly #socket: WebSocket;
  readonly #models: Models;
  readonly #logger: Logger;
  readonly #running = new Map<string, Running>();
  /** Generations that were accepted and wait for their settings. */
  #preparing = 0;
  /** Releases of the gates that are held while the client does not read; `null` while it does. */
  #held: (() => void)[] | null = null;

  constructor(socket: WebSocket, models: Models, logger: Logger) {
    this.#socket = socket;
    this.#models = models;
    this.#logger = logger;
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('error', (error) => logger.debug({ err: error }, 'socket error'));
    socket.on('close', () => {
      for (const { subscription } of this.#running.values()) subscription.unsubscribe();
      this.#running.clear();
    });
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (isBinary) {
      this.#socket.close(UNSUPPORTED_DATA, 'messages are JSON text');
      return;
    }
    let message: unknown;
    try {
      message = parseJson(data);
      const type = typeOf(message);
      if (type === 'generation.create') this.#create(message);
      else if (type === 'generation.cancel') this.#cancel(message);
      else throw new ApiError(400, 'invalid_message', `type: must be ${CLIENT_TYPES}`, 'type');
    } catch (error) {
      this.#sendError(error, requestIdOf(message));
    }
  }

  #create(message: unknown): void {
    const request = parse(createSchema, message);
    if (this.#running.size + this.#preparing >= MAX_GENERATIONS) {
      const text = `at most ${MAX_GENERATIONS} generations at once on a connection`;
      throw new ApiError(429, 'too_many_generations', text);
    }
    this.#preparing += 1;
    this.#models
      .prepare(request, { canRetract: true })
      .finally(() => {
        this.#preparing -= 1;
      })
      .then((prepared) => this.#start(prepared, request.request_id))
      .catch((error: unknown) => this.#sendError(error, requestIdOf(message)));
  }

  #start({ model, guard, promptTokens, vocabulary, start }: Prepared, requestId: string | undefined): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const responseId = `resp-${randomUUID()}`;
    let offset = 0;
    let completionTokens = 0;
    const emit = ({
      type,
      ...fields
    }: {
      readonly type: string;
      readonly [field: string]: unknown;
    }): void => {
      this.#send({ type, response_id: responseId, offset, ...fields });
      offset += 1;
    };
    const created = Math.floor(Date.now() / 1000);
    const echo = requestId === undefined ? {} : { request_id: requestId };
    emit({ type: 'generation.created', ...echo, created, model, prompt_tokens: promptTokens, guard });

    const gate = new FlowGate();
    this.#held?.push(gate.hold());
    const subscription = start(gate).subscribe({
      next: (event) => {
        if (event.type === 'token.delta') completionTokens = event.index + 1;
        if (event.type === 'token.retracted') completionTokens = event.from;
        if (event.type === 'generation.done') this.#running.delete(responseId);
        emit(eventFields(event, vocabulary));
      },
      error: (error: unknown) => {
        this.#running.delete(responseId);
        this.#sendError(error, { response_id: responseId, offset });
      },
    });
    const cancelled = (): void => {
      const usage = usageFields({ promptTokens: promptTokens ?? 0, completionTokens });
      emit({ type: 'generation.done', finish_reason: 'cancelled', usage });
    };
    if (!subscription.closed) this.#running.set(responseId, { subscription, gate, cancelled });
  }

  #cancel(message: unknown): void {
    const { response_id: id } = parse(cancelSchema, message);
    const generation = this.#running.get(id);
    if (!generation) {
      const text = `response_id: no generation ${id} is under way`;
      throw new ApiError(404, 'unknown_response', text, 'response_id');
    }
    this.#running.delete(id);
    generation.subscription.unsubscribe();
    generation.cancelled();
  }

  #sendError(error: unknown, about: Subject): void {
    const { body, status } = toApiError(error);
    if (status >= 500) this.#logger.error({ err: error, ...about }, 'generation failed');
    this.#send({ type: 'error', ...about, error: body });
  }

  #send(event: object): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(JSON.stringify(event), () => {
      if (this.#socket.bufferedAmount < HIGH_WATER_BYTES / 2) this.#resume();
    });
    if (this.#socket.bufferedAmount > HIGH_WATER_BYTES) this.#pause();
  }

  /** The client does not read: nothing more is generated for it, and nothing more is taken from it. */
  #pause(): void {
    if (this.#held) return;
    this.#held = [...this.#running.values()].map(({ gate }) => gate.hold());
    this.#socket.pause();
  }

  #resume(): void {
    if (!this.#held) return;
    for (const release of this.#held) release();
    this.#held = null;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.resume();
  }
}

function parseJson(data: RawData): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    throw new ApiError(400, 'invalid_json', 'the message is not valid JSON');
  }
}

function typeOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
}

/** The client's name for a request that was refused, if it is fit to be echoed. */
function requestIdOf(message: unknown): { request_id?: string } {
  if (typeof message !== 'object' || message === null || !('request_id' in message)) return {};
  const { request_id } = message;
  return typeof request_id === 'string' && request_id.length <= 128 ? { request_id } : {};
}
