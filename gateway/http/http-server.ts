import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ConnectionBounds } from '../connection-bounds.js';
import { ApiError, errorHeaders } from '../errors/api-error.js';
import type { ErrorCode } from '../errors/codes.js';
import { hasBegun, inTurn } from './in-turn.js';
import { closeUnread } from './unread.js';

const MAX_HEADER_BYTES = 16 << 10;
/** Longer than proxies hold idle connections (nginx and AWS's for 60 s by default), or they would ask on one that just ends. */
const KEEP_ALIVE_MS = 75_000;

/**
 * A server with time limits for sending a request and reading a response, and a limit of its headers' bytes.
 * A request that is not HTTP, comes too slowly or is too large is answered in the shape of the API if that is
 * still possible.
 */
export function createHttpServer(
  { headerMs, bodyMs }: Pick<ConnectionBounds, 'headerMs' | 'bodyMs'>,
  stallMs: number,
  listener: RequestListener,
  onRefused: (code: ErrorCode) => void = () => {},
): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headerMs,
    requestTimeout: headerMs + bodyMs,
    // How exact the two are.
    connectionsCheckingInterval: Math.min(1000, headerMs / 2),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Supported from Node 22.21 and 24.9 on; before, see `declineUpgrade`.
    shouldUpgradeCallback: (request: IncomingMessage) =>
      server.listenerCount('upgrade') > 0 && isHandshake(request),
  };
  const server: Server = createServer(options, (request, response) =>
    inTurn(request, response, () => listener(request, response)),
  );
  closeUnread(server, stallMs);
  // Their bytes are bounded; by default those after the 2000th are dropped without a word, `Origin` too.
  server.maxHeadersCount = 0;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    // Within a response that has begun, an answer would be taken for a part of it.
    if (hasBegun(socket)) return socket.destroy();
    const refusal = refusalOf(error);
    onRefused(refusal.body.code);
    refuse(socket, refusal);
  });
  return server;
}

/** Error for data that Node could not parse as a request. */
function refusalOf({ code }: NodeJS.ErrnoException): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers_too_large', `at most ${MAX_HEADER_BYTES} bytes of headers`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'the request took too long to arrive');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body_too_large', 'chunk extensions are too large');
    default:
      return new ApiError('invalid_http', 'not valid HTTP/1.0 or HTTP/1.1');
  }
}

/** HTTP/1.0 is what older health checks and `ab` speak. Node's parser takes 0.9 and 2.0 for it, too. */
const VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1']);

/**
 * Refuses what others on the way may understand in another way than we do: versions of HTTP that have another form,
 * chunks in HTTP/1.0, whose framing is then faulty (RFC 9112, section 6.1), an address of another server, as proxies
 * are sent, and two names of this one.
 * @throws ApiError 400
 */
export function checkForm({
  url = '',
  httpVersion,
  headersDistinct,
}: Pick<IncomingMessage, 'url' | 'httpVersion' | 'headersDistinct'>): void {
  if (!VERSIONS.has(httpVersion)) throw new ApiError('invalid_http', 'not valid HTTP/1.0 or HTTP/1.1');
  if (httpVersion === '1.0' && headersDistinct['transfer-encoding'])
    throw new ApiError('invalid_http', 'Transfer-Encoding: HTTP/1.0 has none');
  if (!url.startsWith('/')) throw new ApiError('invalid_http', 'the request target must be a path');
  if ((headersDistinct.host?.length ?? 0) > 1)
    throw new ApiError('invalid_http', 'Host: given more than once');
}

/** Whether a request is to become a WebSocket. */
export const isHandshake = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket';

/**
 * Serves a request that offers to speak another protocol as if it did not, as `h2c`, which Java's client
 * offers: RFC 9110, 7.8 allows this. If Node has not asked, the request has no body by now, and nothing reads
 * its connection: it begins anew with the same request, without the offer, and ends after it.
 */
export function declineUpgrade(
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  connection: Duplex,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, 'Connection: close'];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (/^(connection|upgrade)$/i.test(rawHeaders[i] ?? '')) continue;
    lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  }
  connection.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit(connection instanceof TLSSocket ? 'secureConnection' : 'connection', connection);
}

/** Answers on a connection that has no response object, and ends it. */
export function refuse(
  connection: Duplex,
  error: ApiError,
  headers: Readonly<Record<string, string>> = {},
): void {
  // The connection has no other listeners, and nothing else ends it when the other side does not.
  connection.on('error', () => connection.destroy());
  connection.on('finish', () => connection.destroy());
  const text = JSON.stringify({ error: error.body });
  const fields = {
    ...headers,
    ...errorHeaders(error),
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  };
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ];
  connection.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
