import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import { pino } from 'pino';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { readEvent } from '#client/index.js';
import { ApiError } from '#gateway/errors/api-error.js';
import { LiveGenerations } from '#gateway/generations/live-generations.js';
import { CHAT_COMPLETIONS } from '#gateway/http/chat-completions.js';
import { COMPLETIONS } from '#gateway/http/completions.js';
import { RESPONSES } from '#gateway/http/responses-route.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import { parse } from '#gateway/requests/generation-request.js';
import { guardrailSchema } from '#gateway/requests/guardrail-request.js';
import { StreamConnection } from '#gateway/websocket/socket-connection.js';
import { answeringOf } from '../../support/answers.js';
import { settingsWith } from '../../support/gateway.js';
import { ScriptedModel } from '../../support/scripted-model.js';
import type { Target } from '../target.js';

const READERS: readonly ((body: unknown) => string)[] = [
  ...[CHAT_COMPLETIONS, COMPLETIONS, RESPONSES].map((api) => (body: unknown) => api.read(body).fields.model),
  (body) => parse(guardrailSchema, body).input_type,
];

/** A body that is JSON is a request of each API, or is refused by an error that names the field. */
const httpBody: Target = {
  name: 'http-body',
  run: (input) => {
    const body = jsonOf(input);
    if (body === undefined) return;
    for (const read of READERS) {
      try {
        expect(typeof read(body)).toBe('string');
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { code, param, message } = error.body;
        expect(error.status).toBe(400);
        expect(code).toMatch(/^(invalid_value|unknown_parameter|unsupported_parameter)$/);
        expect(message.startsWith(`${param ?? 'request'}: `)).toBe(true);
        if (isRecord(body)) expect(param).not.toBeNull();
      }
    }
  },
};

const settings = settingsWith({ bounds: { messagesPerSecond: 1_000_000 } });
const logger = pino({ level: 'silent' });
const metrics = new Metrics();

/** The server's side of a WebSocket, whose messages a test makes and reads. */
class Socket extends EventEmitter {
  readonly OPEN = WebSocket.OPEN;
  readyState: number = WebSocket.OPEN;
  readonly bufferedAmount = 0;
  readonly sent: string[] = [];

  send(frame: string, taken: () => void): void {
    this.sent.push(frame);
    process.nextTick(taken);
  }

  close(code: number): void {
    this.readyState = WebSocket.CLOSED;
    this.emit('close', code);
  }

  ping() {}
  pause() {}
  resume() {}
  terminate() {}
}

const LAST = { type: 'generation.create', request_id: 'last', model: 'reasoner', max_tokens: 2 };

/** A line is a message. All that is sent is of the protocol; whatever came before, a valid request is answered. */
const websocket: Target = {
  name: 'websocket',
  run: async (input) => {
    const answering = answeringOf([new ScriptedModel()], { severalKeys: true });
    const live = new LiveGenerations(settings, logger);
    const socket = new Socket();
    const options = {
      models: answering.models,
      answering,
      live,
      principal: { name: 'anonymous', client: '', admit: () => () => {} },
      settings,
      logger,
      metrics,
      trace: ROOT_CONTEXT,
    };
    // The part of a WebSocket that a connection uses.
    new StreamConnection(socket as unknown as WebSocket, options);
    const lines = Buffer.from(input).toString('latin1').split('\n');
    for (const line of lines) {
      socket.emit('message', Buffer.from(line, 'latin1'), false);
      await setImmediate();
    }
    // Places are taken by what the messages asked for.
    for (const frame of socket.sent) {
      const event = readEvent(frame);
      if (event.type === 'generation.created')
        socket.emit('message', message({ type: 'generation.cancel', response_id: event.response_id }), false);
    }
    await setImmediate();
    const said = socket.sent.length;
    socket.emit('message', message({ ...LAST, messages: [{ role: 'user', content: 'x' }] }), false);
    for (let turn = 0; turn < 50 && !socket.sent.slice(said).some(isDone); turn++) await setImmediate();
    expect(socket.sent.slice(said).some(isDone)).toBe(true);
    for (const frame of socket.sent) {
      const event = readEvent(frame);
      expect(event.type).not.toBe('unknown');
      if (event.type === 'error') expect(event.error.code).not.toBe('internal_error');
    }
    socket.close(1000);
    expect(live.size).toBe(0);
  },
};

/** What a server sends is an event, or a ProtocolError. */
const client: Target = {
  name: 'client',
  run: (input) => {
    try {
      expect(typeof readEvent(Buffer.from(input).toString()).type).toBe('string');
    } catch (error) {
      expect(error).toMatchObject({ name: 'ProtocolError' });
    }
  },
};

const isDone = (frame: string): boolean => frame.includes('"generation.done"');
const message = (value: object): Buffer => Buffer.from(JSON.stringify(value));
const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function jsonOf(input: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(input));
  } catch {
    return undefined;
  }
}

export const REQUESTS: readonly Target[] = [httpBody, websocket, client];
