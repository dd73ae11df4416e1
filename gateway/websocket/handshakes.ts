import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context } from '@opentelemetry/api';
import { SUBPROTOCOL } from 'flinch-client/protocol';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Access } from '../access/access.js';
import type { Client } from '../access/client.js';
import type { Principal } from '../access/principal.js';
import { ApiError, toApiError } from '../errors/api-error.js';
import type { Lifecycle } from '../generations/lifecycle.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { checkForm, refuse } from '../http/http-server.js';
import { requestIdOf } from '../http/request-id.js';
import type { Metrics } from '../metrics/metrics.js';
import { readTrace } from '../tracing/trace-context.js';
import { CLOSE_CODES } from './close-codes.js';
import { UnfinishedMessages } from './unfinished.js';
import { takeUpgrades } from './upgrades.js';

const PATH = '/v1/stream';
const VERSION = '13';
/** Fragments of one message; clients send theirs whole. */
const MAX_FRAGMENTS = 1024;
const GOODBYE_TIMEOUT_MS = 1000;
/** Messages of the largest size that may be under way on all connections together. */
const UNFINISHED_MESSAGES = 64;

export interface StreamServerOptions {
  readonly access: Access;
  readonly lifecycle: Lifecycle;
  readonly live: LiveGenerations;
  readonly metrics: Metrics;
  readonly maxMessageBytes: number;
  /** Time for one message to arrive. */
  readonly messageMs: number;
  readonly logger: Logger;
  /** Takes over a connection that may be there. */
  readonly connect: (socket: WebSocket, from: Connected) => void;
}

/** A client that connects. */
export interface Connected {
  readonly principal: Principal;
  readonly logger: Logger;
  /** Trace of the handshake. */
  readonly trace: Context;
}

/** The WebSocket side of the gateway: decides which clients may connect. */
export class StreamServer {
  readonly #options: StreamServerOptions;
  readonly #sockets: WebSocketServer;
  readonly #unfinished: UnfinishedMessages;
  readonly #names = new WeakMap<IncomingMessage, string>();

  constructor(options: StreamServerOptions) {
    this.#options = options;
    const bytes = UNFINISHED_MESSAGES * options.maxMessageBytes;
    this.#unfinished = new UnfinishedMessages({ bytes, ms: options.messageMs });
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: options.maxMessageBytes,
      maxFragments: MAX_FRAGMENTS,
      // A few bytes could unfold to any size, and tokens are too short to be worth it.
      perMessageDeflate: false,
      handleProtocols: () => SUBPROTOCOL,
    });
    this.#sockets.on('headers', (headers, request) => headers.push(`X-Request-Id: ${this.#nameOf(request)}`));
    // The request is no handshake of a WebSocket; ws would answer it as plain text.
    this.#sockets.on('wsClientError', (error, connection, request) => {
      this.#refuse(new ApiError('invalid_http', error.message), connection, request);
    });
  }

  get connections(): number {
    return this.#sockets.clients.size;
  }

  /**
   * Takes the handshakes of a server below a path; see {@link takeUpgrades}.
   * @returns ends it
   * @throws TypeError
   */
  attach(server: Server, path: string): () => void {
    return takeUpgrades(server, path, (request, connection, head, rest) => {
      void this.#upgrade(request, connection, head, rest);
    });
  }

  /** Says goodbye to every client, and does not wait long for their answers. */
  async close(): Promise<void> {
    this.#unfinished.close();
    await Promise.all([...this.#sockets.clients].map(goAway));
  }

  async #upgrade(request: IncomingMessage, connection: Duplex, head: Buffer, path: string): Promise<void> {
    // The connection has no other listener yet: its end may come while access is checked.
    const gone = (): void => void connection.destroy();
    connection.on('error', gone);
    try {
      const client = await this.#check(request, path);
      const release = await client.socket();
      if (connection.destroyed) release();
      else connection.once('close', release);
      const principal = client.onSocket;
      connection.off('error', gone);
      const about = { request_id: this.#nameOf(request), principal: principal.name };
      const logger = this.#options.logger.child(about);
      const { context: trace, ignored } = readTrace(request.headers);
      this.#options.metrics.traceContext(ignored);
      this.#sockets.handleUpgrade(request, connection, head, (socket) => {
        logger.info('socket opened');
        socket.once('close', (code) => logger.info({ code }, 'socket closed'));
        this.#unfinished.watch(socket, connection, (reason) => {
          socket.pause();
          socket.close(CLOSE_CODES.unfinished, reason);
          setTimeout(() => socket.terminate(), GOODBYE_TIMEOUT_MS).unref();
        });
        this.#options.connect(socket, { principal, logger, trace });
      });
    } catch (error) {
      if (!(error instanceof ApiError)) this.#options.logger.error({ err: error }, 'upgrade failed');
      this.#refuse(toApiError(error), connection, request);
    }
  }

  /** @throws ApiError for a client that may not connect */
  async #check(request: IncomingMessage, path: string): Promise<Client> {
    const { access, lifecycle } = this.#options;
    const { url = '', headers, socket } = request;
    checkForm(request);
    if (request.httpVersion !== '1.1') throw new ApiError('invalid_http', 'a handshake needs HTTP/1.1');
    access.checkHost(headers);
    const [pathname = '', query = ''] = url.split(/\?(.*)/s);
    // Case is ignored, as in Express for the paths of HTTP.
    if (path.toLowerCase() !== PATH) {
      throw new ApiError('not_found', `there is no WebSocket at ${pathname}`);
    }
    access.checkOrigin(headers);
    // Version 8 of the draft has another name for the Origin, which would not be checked.
    if (headers['sec-websocket-version'] !== VERSION) {
      const header = 'Sec-WebSocket-Version';
      throw new ApiError('invalid_value', `${header}: must be ${VERSION}`, header, { status: 426 });
    }
    const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) {
      const header = 'Sec-WebSocket-Protocol';
      throw new ApiError('invalid_value', `${header}: must offer ${SUBPROTOCOL}`, header);
    }
    const client = await access.byHandshake(headers, new URLSearchParams(query), socket.remoteAddress);
    await lifecycle.checkOpen(() => this.#options.live.holds(client));
    await client.request();
    await client.refused(0);
    return client;
  }

  #refuse(error: ApiError, connection: Duplex, request: IncomingMessage): void {
    const { metrics, logger } = this.#options;
    const id = this.#nameOf(request);
    metrics.refused(error.body.code);
    const fields = { request_id: id, status: error.status, code: error.body.code };
    logger.info(fields, 'socket refused');
    const headers = { 'X-Request-Id': id, ...(error.status === 426 && { 'Sec-WebSocket-Version': VERSION }) };
    refuse(connection, error, headers);
  }

  #nameOf(request: IncomingMessage): string {
    const name = this.#names.get(request) ?? requestIdOf(request.headers);
    this.#names.set(request, name);
    return name;
  }
}

async function goAway(socket: WebSocket): Promise<void> {
  const timer = setTimeout(() => socket.terminate(), GOODBYE_TIMEOUT_MS);
  const closed = once(socket, 'close');
  socket.close(CLOSE_CODES.goingAway, 'the server is shutting down');
  await closed;
  clearTimeout(timer);
}
