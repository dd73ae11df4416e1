import http from 'node:http';
import https from 'node:https';

const TIMEOUT_MS = 10_000;

/** The status of the answer, or why there is none. */
export type PostOutcome = { readonly status: number } | { readonly reason: string };

/** Sends JSON to one address. */
export interface Poster {
  post(headers: Readonly<Record<string, string>>, body: string): Promise<PostOutcome>;
  /** Ends exchanges under way. */
  close(): void;
}

/**
 * Redirects are not followed, and the body of the answer is not read.
 * @param timeoutMs time limit for all of an exchange
 */
export function poster(url: string, timeoutMs = TIMEOUT_MS): Poster {
  // fetch is not used, for the reason in upstream/wire/http.ts.
  const { Agent, request } = new URL(url).protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, timeout: 4000 });
  const post: Poster['post'] = (headers, body) =>
    new Promise((resolve) => {
      const length = String(Buffer.byteLength(body));
      const own = { 'content-type': 'application/json', 'content-length': length, 'user-agent': 'flinch' };
      const sent = request(url, { method: 'POST', agent, headers: { ...own, ...headers } });
      const late = Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' });
      const timer = setTimeout(() => sent.destroy(late), timeoutMs);
      sent.on('close', () => clearTimeout(timer));
      sent.on('response', (response) => {
        resolve({ status: response.statusCode ?? 0 });
        // The data that came with the status is read, so that the next message can reuse the connection. More data is
        // not waited for.
        response.on('error', () => {}).resume();
        setImmediate(() => response.destroy());
      });
      sent.on('error', (error) => resolve({ reason: 'code' in error ? String(error.code) : error.name }));
      sent.end(body);
    });
  return { post, close: () => agent.destroy() };
}
