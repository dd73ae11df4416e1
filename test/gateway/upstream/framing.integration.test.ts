import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { exchange, request } from '../../support/raw.js';
import { type StrictUpstream, strictUpstream } from '../../support/strict-upstream.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'];
const LISTED = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const SMUGGLED = [
  'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n',
  'Content-Length: 18\r\n\r\n{"smuggled": true}\r\n\r\n',
].join('');

const BODIES: Readonly<Record<string, string>> = {
  none: '',
  'an object': '{}',
  'an object that names a model': '{"model":"m","input":"x"}',
  'a list': '[{"model":"m"}]',
  'a request': SMUGGLED,
  'a request after its end': `\r\n\r\n0\r\n\r\n${SMUGGLED}`,
};

/** Framing of the same body, and headers that say something about it. */
const HEADERS: Readonly<Record<string, (body: string) => [Record<string, string>, string]>> = {
  'a length': (body) => [{ 'Content-Length': String(body.length) }, body],
  chunks: (body) => [{ 'Transfer-Encoding': 'chunked' }, chunked(body)],
  'a length, and text': (body) => [
    { 'Content-Length': String(body.length), 'Content-Type': 'text/plain' },
    body,
  ],
  'a length, and parts': (body) => [
    { 'Content-Length': String(body.length), 'Content-Type': 'multipart/form-data; boundary=b' },
    body,
  ],
  'a length, and JSON': (body) => [
    { 'Content-Length': String(body.length), 'Content-Type': 'application/json' },
    body,
  ],
  'a length that is of this connection alone': (body) => [
    {
      'Content-Length': String(body.length),
      Connection: 'close, content-length',
      'Content-Type': 'application/octet-stream',
    },
    body,
  ],
  'chunks with a trailer': (body) => [
    { 'Transfer-Encoding': 'chunked', Trailer: 'content-length', 'Content-Type': 'multipart/form-data' },
    chunked(body).replace(/\r\n$/, 'Content-Length: 3\r\n\r\n'),
  ],
};

const chunked = (body: string): string =>
  `${body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`;

let upstream: StrictUpstream;
let gateway: Gateway;
let close: () => Promise<void>;
beforeAll(async () => {
  upstream = await strictUpstream(({ method, target, body }) => ({
    type: 'application/json',
    body: JSON.stringify({ method, target, length: body.length }),
  }));
  const passthrough = [...LISTED.map((method) => `${method} /v1/thing`), 'POST /v1/embeddings'];
  const config = upstreamConfig([upstream.url], { passthrough, retries: 0 });
  const model = openUpstreamModel('m', config);
  gateway = await startGateway({ models: new Models([model]), config: { listen: { port: 0 } } });
  close = () => model.close();
});
afterAll(async () => {
  await gateway.close();
  await close();
  await upstream.close();
});

const cases = METHODS.flatMap((method) =>
  Object.entries(BODIES).flatMap(([what, body]) =>
    Object.entries(HEADERS).map(([how, framed]) => ({ method, what, body, how, framed })),
  ),
);

describe('whatever is passed on is one message of its connection', () => {
  it.each(cases)('$method with $what, by $how', async ({ method, body, how, framed }) => {
    const before = upstream.requests.length;
    const [headers, bytes] = framed(body);
    const answer = await exchange(gateway.url, request(`${method} /v1/thing`, headers, bytes));
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
    // The next one on the same connection is answered as itself.
    const next = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"m","input":"honest"}',
    });
    expect(await next.json()).toMatchObject({ method: 'POST', target: '/v1/embeddings' });
    expect(upstream.faults).toEqual([]);
    const came = upstream.requests
      .slice(before)
      .filter(({ target }) => target !== '/v1/chat/completions' && target !== '/v1/models')
      .map(({ method, target, body }) => ({ method, target, body: body.toString('latin1') }));
    // An object is written anew, with the name of a model.
    const sent = body.startsWith('{') ? JSON.stringify({ ...JSON.parse(body), model: 'm' }) : body;
    const own = { method, target: '/v1/thing', body: sent };
    expect(came.slice(0, -1)).toEqual(status === 200 ? [own] : []);
    if (!LISTED.includes(method)) expect(status).not.toBe(200);
    if (method === 'GET' && body !== '') expect(status).toBe(400);
    if (how.endsWith('parts') && LISTED.includes(method) && method !== 'GET')
      expect(status).toBe(body.startsWith('[') ? 400 : 200);
    if (method === 'DELETE' && body === '{}' && !('Trailer' in headers)) expect(status).toBe(200);
  });
});
