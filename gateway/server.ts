import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Logger, pino } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import { ANONYMOUS } from './access/principal.js';
import { createApp } from './app.js';
import { CLOSE_CODES } from './close-codes.js';
import { type Config, configSchema } from './config.js';
import { ApiError } from './errors.js';
import { LiveGenerations } from './live-generations.js';
import type { Models } from './models.js';
import { StreamConnection, SUBPROTOCOL } from './stream-socket.js';

export interface GatewayOptions {
  readonly models: Models;
  readonly host?: string;
  /** 0 picks a free port. */
  readonly port?: number;
  readonly logger?: Logger;
  readonly settings?: Pick<Config, 'limits' | 'streams'>;
}

export interface Gateway {
  readonly url: string;
  readonly server: Server;
  /** What is under way. */
  readonly live: LiveGenerations;
  /** Stops listening and ends what is under way; the engines stay open. */
  close(): Promise<void>;
}

const GOODBYE_TIMEOUT_MS = 1000;

/**
 * Starts the gateway.
 * @throws Error when the address cannot be listened on
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { models, host = '127.0.0.1', port = 8787, logger = pino({ level: 'silent' }) } = options;
  const { settings = configSchema.parse({}) } = options;
  const live = new LiveGenerations(settings.streams, logger);
  const server = createServer(createApp({ models, live, settings, logger }));
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: settings.limits.message_bytes,
    handleProtocols: () => SUBPROTOCOL,
  });
  server.on('upgrade', (request, connection, head) => {
    const refusal = refuseUpgrade(request);
    if (refusal) return refuse(connection, refusal);
    sockets.handleUpgrade(request, connection, head, (socket) => {
      new StreamConnection(socket, { models, live, principal: ANONYMOUS, settings, logger });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    url: urlOf(address, host),
    server,
    live,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...sockets.clients].map(goAway));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Says goodbye, and does not wait long for the answer. */
async function goAway(socket: WebSocket): Promise<void> {
  const timer = setTimeout(() => socket.terminate(), GOODBYE_TIMEOUT_MS);
  const closed = once(socket, 'close');
  socket.close(CLOSE_CODES.goingAway, 'the server shuts down');
  await closed;
  clearTimeout(timer);
}

function urlOf(address: AddressInfo | string | null, host: string): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return typeof address === 'object' && address ? `http://${name}:${address.port}` : name;
}

function refuseUpgrade(request: IncomingMessage): ApiError | null {
  const [pathname] = (request.url ?? '/').split('?');
  if (pathname !== '/v1/stream')
    return new ApiError(404, 'not_found', `there is no WebSocket at ${pathname}`);
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  if (!offered.includes(SUBPROTOCOL)) {
    const header = 'Sec-WebSocket-Protocol';
    return new ApiError(400, 'invalid_value', `${header}: must offer ${SUBPROTOCOL}`, header);
  }
  // A page of another site must not use the models of whoever looks at it.
  const { origin, host } = request.headers;
  if (origin !== undefined && !(URL.canParse(origin) && new URL(origin).host === host)) {
    return new ApiError(403, 'invalid_value', 'Origin: pages of other sites may not connect', 'Origin');
  }
  return null;
}

function refuse(connection: Duplex, { status, body }: ApiError): void {
  // Nobody else listens on a connection that asked for an upgrade, nor ends it when the other side does not.
  connection.on('error', () => connection.destroy());
  connection.on('finish', () => connection.destroy());
  const text = JSON.stringify({ error: body });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  connection.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
