import { onTestFinished } from 'vitest';
import type { Exchange } from '#gateway/upstream/wire/exchange.js';
import { UpstreamHttp, type UpstreamHttpOptions } from '#gateway/upstream/wire/wire-http.js';
import { upstreamConfig } from './upstream-server.js';

/** Requests to one server, until the test has ended. */
export function httpOf(
  url: string,
  options: Pick<UpstreamHttpOptions, 'connectMs' | 'responseBytes'> = {},
): UpstreamHttp {
  const { timeouts } = upstreamConfig([url]);
  const http = new UpstreamHttp({ url, key: null, timeouts, ...options });
  onTestFinished(() => http.close());
  return http;
}

export const ask = (http: UpstreamHttp, signal = new AbortController().signal): Promise<Exchange> =>
  http.post('/chat/completions', {}, signal);

/** The rest of an answer's body. */
export async function bodyOf(exchange: Exchange): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await exchange.read(); chunk; chunk = await exchange.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
