import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { SUBPROTOCOL } from 'flinch-client/protocol';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Client } from '../access/limited-client.js';
import { ApiError, toApiError } from '../errors/api-error.js';
import { checkForm, refuse } from '../http/http-server.js';
import { requestIdOf } from '../http/request-id.js';
import type { Serving } from '../serving.js';
import { countedTrace } from '../tracing/trace-context.js';
import { CLOSE_CODES } from './close-codes.js';
import { StreamConnection } from './socket-connection.js';
import { UnfinishedMessages } from './unfinished.js';
import { takeUpgrades } from './upgrades.js';

const PATH = '/v1/stream';
const VERSION = '13';
/** Fragments of one message; clients send theirs whole. */
const MAX_FRAGMENTS = 1024;
const GOODBYE_TIMEOUT_MS = 1000;
/** Messages of the largest size that may be under way on all connections together. */
const UNFINISHED_MESSAGES = 64;

/** The WebSocket side of the gateway: decides which clients may connect. */
export class StreamServer {
  readonly #serving: Serving;
  readonly #sockets: WebSocketServer;
  readonly #unfinished: UnfinishedMessages;
  readonly #names = new WeakMap<IncomingMessage, string>();

  constructor(serving: Serving) {
    this.#serving = serving;
    const { limits, bounds } = serving.settings;
    this.#unfinished = new UnfinishedMessages(UNFINISHED_MESSAGES * limits.body_bytes, bounds.bodyMs);
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: limits.body_bytes,
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
      const logger = this.#serving.logger.child(about);
      const trace = countedTrace(request.headers, this.#serving.metrics);
      this.#sockets.handleUpgrade(request, connection, head, (socket) => {
        logger.info('socket opened');
        socket.once('close', (code) => logger.info({ code }, 'socket closed'));
        this.#unfinished.watch(socket, connection, (reason) => {
          socket.pause();
          socket.close(CLOSE_CODES.unfinished, reason);
          setTimeout(() => socket.terminate(), GOODBYE_TIMEOUT_MS).unref();
        });
        new StreamConnection(socket, { ...this.#serving, principal, logger, trace });
      });
    } catch (error) {
      if (!(error instanceof ApiError)) this.#serving.logger.error({ err: error }, 'upgrade failed');
      this.#refuse(toApiError(error), connection, request);
    }
  }

  /** @throws ApiError for a client that may not connect */
  async #check(request: IncomingMessage, path: string): Promise<Client> {
    const { access, lifecycle } = this.#serving;
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
    await lifecycle.checkOpen(() => this.#serving.live.holds(client));
    await client.request();
    await client.refused(0);
    return client;
  }

  #refuse(error: ApiError, connection: Duplex, request: IncomingMessage): void {
    const { metrics, logger } = this.#serving;
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
