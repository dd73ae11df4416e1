import { createServer, type Socket } from 'node:net';
import { originOf } from './http-receiver.js';

/** A request as its bytes say. */
export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  /** Headers by names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface StrictUpstream {
  /** Address, up to and with `/v1`. */
  readonly url: string;
  readonly requests: StrictRequest[];
  /** Data that is no request, or does not come where one may begin. */
  readonly faults: string[];
  close(): Promise<void>;
}

/** Answer to one request, with all of its messages in its framing. */
export type Answer = (request: StrictRequest) => {
  readonly status?: number;
  readonly type: string;
  readonly body: string;
};

const METHODS = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*) HTTP\/1\.1$/;

/**
 * A server on raw TCP that reads nothing into what it gets: a request is a line, headers and as many bytes as
 * `content-length` says, and the next one begins after them. It keeps its connections.
 */
export async function strictUpstream(answer: Answer): Promise<StrictUpstream> {
  const requests: StrictRequest[] = [];
  const faults: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let bytes = Buffer.alloc(0);
    socket.on('data', (data) => {
      bytes = Buffer.concat([bytes, data]);
      for (;;) {
        const read = readRequest(bytes);
        if (read === null) return;
        if (typeof read === 'string') {
          faults.push(read);
          bytes = Buffer.alloc(0);
          socket.destroy();
          return;
        }
        bytes = bytes.subarray(read.length);
        requests.push(read.request);
        const { status = 200, type, body } = answer(read.request);
        const length = Buffer.byteLength(body);
        socket.write(
          `HTTP/1.1 ${status} Status\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
        );
      }
    });
    socket.on('close', () => {
      if (bytes.length > 0) faults.push(`cut: ${bytes.toString('latin1').slice(0, 200)}`);
    });
  });
  const origin = await originOf(server);
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url: `${origin}/v1`, requests, faults, close };
}

/** The first request of these bytes; `null` until it is whole; a text for what is none. */
export function readRequest(
  bytes: Buffer,
): { readonly request: StrictRequest; readonly length: number } | string | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, method = '', target = ''] = METHODS.exec(line) ?? [];
  if (method === '') return `no request: ${line.slice(0, 200)}`;
  const headers = new Map<string, string>();
  for (const field of fields) {
    const [, name = '', value = ''] = /^([\w-]+): (.*)$/.exec(field) ?? [];
    if (name === '' || headers.has(name.toLowerCase())) return `no header, or twice: ${field}`;
    headers.set(name.toLowerCase(), value);
  }
  if (headers.has('transfer-encoding')) return 'a body in chunks';
  const stated = headers.get('content-length') ?? '0';
  if (!/^\d+$/.test(stated)) return `no length: ${stated}`;
  const length = end + 4 + Number(stated);
  if (bytes.length < length) return null;
  return { request: { method, target, headers, body: Buffer.from(bytes.subarray(end + 4, length)) }, length };
}
