import { type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { httpReceiver } from './http-receiver.js';

/** A request as the server was asked, and its answer byte for byte. */
export interface Recorded {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** Bytes that have come so far. */
  readonly response: () => Buffer;
}

export interface RecordingProxy {
  /** Address, up to and with `/v1`. */
  readonly url: string;
  /** Requests in the order in which they were answered. */
  readonly recorded: Recorded[];
}

/**
 * Passes requests on to a server, and remembers them until the test has ended.
 * @param refuse paths that it answers by itself, as a server that does not have them
 */
export async function recordingProxy(
  target: string,
  refuse: (path: string) => boolean = () => false,
): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target);
  const recorded: Recorded[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url: path = '', method } = request;
    const sent = await buffer(request);
    if (refuse(path)) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
      return;
    }
    const { host: _, ...headers } = request.headers;
    const parts: Buffer[] = [];
    const body = JSON.parse(sent.toString() || '{}');
    const onward = requestTo({ hostname, port, path, method, headers }, (answer) => {
      const status = answer.statusCode ?? 500;
      recorded.push({ path, body, status, response: () => Buffer.concat(parts) });
      response.writeHead(status, answer.headers);
      answer.on('data', (part: Buffer) => {
        parts.push(part);
        response.write(part);
      });
      answer.on('end', () => response.end());
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.end(sent);
  };
  const origin = await httpReceiver((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  return { url: `${origin}/v1`, recorded };
}
