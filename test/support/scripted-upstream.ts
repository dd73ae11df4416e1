import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { originOf } from './http-receiver.js';
import { readRequest } from './strict-upstream.js';

/** A request as it came over the wire. */
export interface ScriptedRequest {
  readonly path: string;
  /** Headers by names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came, */
  readonly raw: string;
  readonly body: RequestBody;
  /** and its value. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** The text of a message; of an image there is none. */
export const textContent = z
  .union([z.string(), z.array(z.looseObject({ text: z.string().default('') }))])
  .nullish()
  .transform((given) => (Array.isArray(given) ? given.map(({ text }) => text).join('') : (given ?? '')));

const requestBody = z.looseObject({
  messages: z.array(z.object({ role: z.string(), content: textContent })).optional(),
  prompt: z.union([z.string(), z.array(z.number())]).optional(),
  max_tokens: z.number().optional(),
  temperature: z.number().optional(),
  seed: z.number().optional(),
  logprobs: z.union([z.boolean(), z.number()]).optional(),
  top_logprobs: z.number().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
});
export type RequestBody = z.output<typeof requestBody>;

export const SSE = { 'content-type': 'text/event-stream; charset=utf-8' };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** The answer to one request, byte for byte. */
export class ScriptedReply {
  /** Resolves when the connection has closed, from whichever side. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Sends the head of an answer with a body in chunks, as servers that stream do. */
  head(status = 200, headers: Readonly<Record<string, string>> = SSE): this {
    const lines = Object.entries({ ...headers, 'transfer-encoding': 'chunked' }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    this.raw(`HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`);
    return this;
  }

  /** A part of the body; in a packet of its own as far as the sender can say. */
  write(data: string | Uint8Array): this {
    const bytes = Buffer.from(data);
    this.raw(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
    return this;
  }

  data(payload: unknown): this {
    return this.write(`data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`);
  }

  end(): void {
    this.raw('0\r\n\r\n');
  }

  /** The last events, [DONE], and the end. */
  last(...payloads: readonly unknown[]): void {
    for (const payload of [...payloads, '[DONE]']) this.data(payload);
    this.end();
  }

  json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.head(status, { ...JSON_TYPE, ...headers })
      .write(JSON.stringify(body))
      .end();
  }

  raw(data: string | Uint8Array): void {
    this.#socket.write(data);
  }

  /** Resolves when the other side has taken it, as far as buffers do not do so. */
  async taken(data: Uint8Array): Promise<void> {
    await new Promise((resolve) => this.#socket.write(data, resolve));
  }

  /** Ends the connection after all that was written. */
  finish(): void {
    this.#socket.end();
  }

  /** Ends the connection in the middle. */
  cut(): void {
    this.#socket.resetAndDestroy();
  }
}

export type Script = (request: ScriptedRequest, reply: ScriptedReply) => void | Promise<void>;

export interface ScriptedUpstream {
  /** Address, up to and with `/v1`. */
  readonly url: string;
  readonly requests: ScriptedRequest[];
  /** Connections so far. */
  readonly accepted: number;
  close(): Promise<void>;
}

/** The same until the test has ended. */
export async function scriptedUpstream(script: Script): Promise<ScriptedUpstream> {
  const upstream = await startScriptedUpstream(script);
  onTestFinished(() => upstream.close());
  return upstream;
}

/** A server on loopback that answers as a script says; closed by the caller. */
export async function startScriptedUpstream(script: Script, port = 0): Promise<ScriptedUpstream> {
  const requests: ScriptedRequest[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.setMaxListeners(0); // one for each request
    socket.on('error', () => {}); // a client that goes away is what some tests are about
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, async (request) => {
      requests.push(request);
      await script(request, new ScriptedReply(socket));
    });
  });
  const origin = await originOf(server, port);
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: `${origin}/v1`,
    requests,
    get accepted() {
      return accepted;
    },
    close,
  };
}

function readRequests(socket: Socket, received: (request: ScriptedRequest) => Promise<void>): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let read = readRequest(bytes); read; read = readRequest(bytes)) {
      if (typeof read === 'string') throw new Error(read);
      const { target: path, headers, body: sent } = read.request;
      bytes = bytes.subarray(read.length);
      const raw = sent.toString();
      const json = z.looseObject({}).parse(JSON.parse(raw || '{}'));
      const request = {
        path,
        headers: Object.fromEntries(headers),
        raw,
        body: requestBody.parse(json),
        json,
      };
      received(request).catch((error: unknown) => socket.destroy(error instanceof Error ? error : undefined));
    }
  });
}
