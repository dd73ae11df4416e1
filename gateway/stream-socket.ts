import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Subscription } from 'rxjs';
import type { RawData, WebSocket } from 'ws';
import { FlowGate } from '../src/stream/flow-gate.js';
import { eventFields, usageFields } from '../src/stream/wire.js';
import { ApiError, toApiError } from './errors.js';
import type { Models } from './models.js';
import { cancelSchema, createSchema, parse } from './request.js';

export const SUBPROTOCOL = 'flinch.v1';
export const MAX_MESSAGE_BYTES = 1 << 20;

const MAX_GENERATIONS = 8;
/** Bytes that may wait for a client before its generations pause. */
const HIGH_WATER_BYTES = 256 << 10;

/** Close codes, as PROTOCOL.md lists them. */
const UNSUPPORTED_DATA = 1003;

interface Running {
  readonly subscription: Subscription;
  /** Says that it was cancelled; the caller unsubscribes. */
  readonly cancelled: () => void;
}

/** One WebSocket connection and its generations (PROTOCOL.md). */
export function serveSocket(socket: WebSocket, models: Models, logger: Logger): void {
  const running = new Map<string, Running>();
  const gate = new FlowGate();
  let release: (() => void) | null = null;

  const resume = (): void => {
    release?.();
    release = null;
  };
  const send = (event: object): void => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(JSON.stringify(event), () => {
      if (socket.bufferedAmount < HIGH_WATER_BYTES / 2) resume();
    });
    if (socket.bufferedAmount > HIGH_WATER_BYTES) release ??= gate.hold();
  };

  const sendError = (
    error: unknown,
    about: { request_id?: string; response_id?: string; offset?: number },
  ): void => {
    const { body, status } = toApiError(error);
    if (status >= 500) logger.error({ err: error, ...about }, 'generation failed');
    send({ type: 'error', ...about, error: body });
  };

  const create = (message: unknown): void => {
    const request = parse(createSchema, message);
    if (running.size >= MAX_GENERATIONS) {
      throw new ApiError(
        429,
        'too_many_generations',
        `at most ${MAX_GENERATIONS} generations at once on a connection`,
      );
    }
    const prepared = models.prepare(request);
    const { model, guard, promptTokens, engine } = prepared;
    const responseId = `resp-${randomUUID()}`;
    let offset = 0;
    const emit = ({
      type,
      ...fields
    }: {
      readonly type: string;
      readonly [field: string]: unknown;
    }): void => {
      send({ type, response_id: responseId, offset, ...fields });
      offset += 1;
    };
    let completionTokens = 0;
    const cancelled = (): void => {
      running.delete(responseId);
      const usage = usageFields({ promptTokens, completionTokens });
      emit({ type: 'generation.done', finish_reason: 'cancelled', usage });
    };

    const created = Math.floor(Date.now() / 1000);
    const echo = request.request_id === undefined ? {} : { request_id: request.request_id };
    emit({ type: 'generation.created', ...echo, created, model, prompt_tokens: promptTokens, guard });
    const subscription = prepared.start(gate).subscribe({
      next: (event) => {
        if (event.type === 'token.delta') completionTokens += 1;
        if (event.type === 'generation.done') running.delete(responseId);
        emit(eventFields(event, engine.checkpoint.tokenizer));
      },
      error: (error: unknown) => {
        running.delete(responseId);
        sendError(error, { response_id: responseId, offset });
      },
    });
    if (!subscription.closed) running.set(responseId, { subscription, cancelled });
  };

  const cancel = (message: unknown): void => {
    const { response_id } = parse(cancelSchema, message);
    const generation = running.get(response_id);
    if (!generation) {
      throw new ApiError(
        404,
        'unknown_response',
        `response_id: no generation ${response_id} is under way`,
        'response_id',
      );
    }
    generation.subscription.unsubscribe();
    generation.cancelled();
  };

  socket.on('message', (data, isBinary) => {
    if (isBinary) {
      socket.close(UNSUPPORTED_DATA, 'messages are JSON text');
      return;
    }
    let message: unknown;
    try {
      message = parseJson(data);
      const type = typeOf(message);
      if (type === 'generation.create') create(message);
      else if (type === 'generation.cancel') cancel(message);
      else
        throw new ApiError(
          400,
          'invalid_message',
          'type: must be generation.create or generation.cancel',
          'type',
        );
    } catch (error) {
      sendError(error, requestIdOf(message));
    }
  });
  socket.on('error', (error) => logger.debug({ err: error }, 'socket error'));
  socket.on('close', () => {
    resume();
    for (const { subscription } of running.values()) subscription.unsubscribe();
    running.clear();
  });
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
