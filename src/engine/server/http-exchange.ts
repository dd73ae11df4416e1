import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServerFault } from './server-fault.js';

export interface Exchange {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of a POST; without one it is a GET. */
  readonly parts?: readonly Uint8Array[];
  /** Time limit of the whole exchange. */
  readonly timeoutMs: number;
  /** The largest body that is read. */
  readonly maxBytes: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };

/** One request and its whole answer. @throws ServerFault */
export async function exchange(
  url: URL,
  { headers = {}, parts, timeoutMs, maxBytes }: Exchange,
): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const length = parts?.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const options = {
    method: parts ? 'POST' : 'GET',
    headers: { ...headers, ...(length !== undefined && { 'content-length': length }) },
    signal,
  };
  const request =
    url.protocol === 'https:'
      ? httpsRequest(url, { ...options, agent: agents['https:'] })
      : httpRequest(url, { ...options, agent: agents['http:'] });
  try {
    const [response] = await Promise.all([
      new Promise<IncomingMessage>((resolve, reject) => {
        request.once('response', resolve);
        request.on('error', reject);
      }),
      pipeline(Readable.from(parts ?? [], { objectMode: true }), request),
    ]);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ServerFault(`the answer has more than ${maxBytes} bytes`);
    }
    if (!response.complete) throw new ServerFault('the answer was cut off');
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
  } catch (error) {
    request.destroy();
    if (error instanceof ServerFault) throw error;
    if (signal.aborted) throw new ServerFault(`no answer within ${timeoutMs / 1000} s`);
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new ServerFault(`the connection failed (${code})`);
  }
}
