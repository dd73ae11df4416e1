import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/gateway.js';
import { type Bytes, chatRequest, exchange, request } from '../../support/raw.js';
import { startTestGateway, type TestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

/** Is in whatever a client can choose here, and must be in nothing that is kept. */
const SECRET = 'sekret';
const BODY_BYTES = 64 << 10;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    limits: { body_bytes: BODY_BYTES },
    bounds: { headerMs: 750, bodyMs: 500 },
    access: { hosts: ['flinch.example'] },
  });
});
afterAll(() => gateway.close());

afterEach(async () => {
  const response = await post(gateway.url, ask(SECRET));
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello there' } }] });
});

/** What is answered: status and, of an error, its code; nothing where the connection is closed without a word. */
async function answers(...parts: readonly Bytes[]): Promise<string[]> {
  const text = await exchange(gateway.url, ...parts);
  return text
    .split(/(?=HTTP\/1\.1 \d)/)
    .filter((part) => part !== '')
    .map((part) =>
      [/^HTTP\/1\.1 (\d+)/.exec(part)?.[1], /"code":"(\w+)"/.exec(part)?.[1]].filter(Boolean).join(' '),
    );
}

/** The body of a question whose fields are given as JSON text, after the usual ones. */
const bodyWith = (fields: string): string => JSON.stringify(ask(SECRET)).replace(/\}$/, `,${fields}}`);
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const bodies: [what: string, answer: string, body: Bytes, headers?: Record<string, string | null>][] = [
  ['one byte too many', '413 body_too_large', bodyWith(`"user":"${'x'.repeat(BODY_BYTES)}"`)],
  ['deep nesting in an unknown field', '400 unknown_parameter', bodyWith(`"${SECRET}":${nested(900)}`)],
  ['nesting that is too deep', '400 invalid_json', bodyWith(`"tools":${nested(30_000)}`)],
  ['nesting that is not closed', '400 invalid_json', '['.repeat(60_000)],
  ['very many messages', '400 invalid_value', `{"model":"x","messages":[${'1,'.repeat(20_000)}1]}`],
  [
    'UTF-16 that says so',
    '415 unsupported_encoding',
    Buffer.from(bodyWith('"n":1'), 'utf16le'),
    { 'Content-Type': 'application/json; charset=utf-16' },
  ],
  [
    'Latin-1 that says so',
    '415 unsupported_encoding',
    bodyWith('"n":1'),
    { 'Content-Type': 'application/json;charset="iso-8859-1"' },
  ],
  ['a byte order mark', '200', `\uFEFF${bodyWith('"n":1')}`],
  ['bytes that are no UTF-8', '400 invalid_json', Buffer.from(bodyWith('"user":"\xff\xfe"'), 'latin1')],
  ['half of a surrogate pair', '200', bodyWith('"user":"\\ud800"')],
  ['a control character in a text', '400 invalid_json', bodyWith('"user":"\u0000"')],
  // JSON may name it; as a field it is nobody's, and changes nothing.
  ['__proto__', '200', bodyWith('"__proto__":{"stream":true}')],
  ['constructor', '400 unknown_parameter', bodyWith('"constructor":{"prototype":{"x":1}}')],
  ['__proto__ of a part', '400 unknown_parameter', bodyWith('"guard":{"__proto__":{"enabled":false}}')],
  [
    'a model of the prototype',
    '404 model_not_found',
    '{"model":"__proto__","messages":[{"role":"user","content":"x"}]}',
  ],
  ['a number beyond all', '400 invalid_value', bodyWith('"temperature":1e999')],
  ['NaN', '400 invalid_json', bodyWith('"temperature":NaN')],
  ['a text that is a number', '400 invalid_value', bodyWith('"temperature":"0.5"')],
  ['minus zero tokens', '400 invalid_value', bodyWith('"max_tokens":-0')],
  ['2^53 + 1 tokens', '400 invalid_value', bodyWith('"max_tokens":9007199254740993')],
  ['the same field twice: the last counts', '404 model_not_found', bodyWith('"model":"other"')],
  ['null', '400 invalid_value', 'null'],
  ['a text', '400 invalid_value', `"${SECRET}"`],
  ['nothing', '400 invalid_json', ''],
  ['half of it', '400 invalid_json', bodyWith('"n":1').slice(0, 40)],
  ['something after it', '400 invalid_json', `${bodyWith('"n":1')}{}`],
  ['a form', '400 invalid_json', `model=${SECRET}`, { 'Content-Type': 'application/x-www-form-urlencoded' }],
  [
    'plain text, as any page may post',
    '400 invalid_json',
    bodyWith('"n":1'),
    { 'Content-Type': 'text/plain' },
  ],
  ['no type', '400 invalid_json', bodyWith('"n":1'), { 'Content-Type': null }],
  [
    'a decompression bomb',
    '415 unsupported_encoding',
    gzipSync(' '.repeat(10 << 20)),
    { 'Content-Encoding': 'gzip' },
  ],
  ['a compression that nobody has', '415 unsupported_encoding', '{}', { 'Content-Encoding': SECRET }],
  ['a place that never was', '400 invalid_value', '{}', { 'Last-Event-ID': SECRET }],
];

const chunked = (chunks: string, headers: Record<string, string> = {}): Buffer =>
  request(
    'POST /v1/chat/completions',
    { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked', ...headers },
    chunks,
  );
const offer = { Connection: 'Upgrade, HTTP2-Settings, close', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
const smuggled = `GET /${SECRET} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

type Hostile = [what: string, answers: string[], ...parts: Bytes[]];
const requests: Hostile[] = [
  ['chunks without end', ['413 body_too_large'], chunked(`20000\r\n${' '.repeat(0x20000)}\r\n0\r\n\r\n`)],
  ['a chunk of no size', ['400 invalid_http'], chunked('zz\r\n{}\r\n0\r\n\r\n')],
  [
    'extensions of a chunk without end',
    ['413 body_too_large'],
    chunked(`2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
  ],
  [
    'both length and chunks',
    ['400 invalid_http'],
    chatRequest(`0\r\n\r\n${smuggled}`, { 'Transfer-Encoding': 'chunked' }),
  ],
  [
    'chunks that are not last',
    ['400 invalid_http'],
    request('POST /v1/chat/completions', { 'Transfer-Encoding': 'chunked, identity' }, smuggled),
  ],
  [
    'a space before the colon',
    ['400 invalid_http'],
    request('POST /v1/chat/completions', { 'Transfer-Encoding ': 'chunked' }, smuggled),
  ],
  [
    'a request in the body of another',
    ['200'],
    request('GET /livez', { 'Content-Length': String(smuggled.length) }, smuggled),
  ],
  ['headers of 20 KB', ['431 headers_too_large'], request('GET /livez', { 'X-A': SECRET.repeat(4000) })],
  ['an address of 20 KB', ['431 headers_too_large'], request(`GET /${SECRET.repeat(4000)}`)],
  [
    'an Origin behind thousands of headers',
    ['403 origin_not_allowed'],
    request('GET /v1/models', { A: `${'b\r\nA:'.repeat(3000)}b`, Origin: `https://${SECRET}.example` }),
  ],
  [
    'an Origin of another site',
    ['403 origin_not_allowed'],
    request('GET /v1/models', { Origin: `https://${SECRET}.example` }),
  ],
  ['no Origin to speak of', ['403 origin_not_allowed'], request('GET /v1/models', { Origin: 'null' })],
  ['no Origin', ['200'], request('GET /v1/models')],
  [
    'a Host of another site',
    ['421 host_not_allowed'],
    request('GET /v1/models', { Host: `${SECRET}.example` }),
  ],
  [
    'a Host of another site for the page',
    ['421 host_not_allowed'],
    request('GET /', { Host: `${SECRET}.example` }),
  ],
  ['a Host that is allowed', ['200'], request('GET /v1/models', { Host: 'flinch.example:8787' })],
  ['no Host', ['400'], request('GET /livez', { Host: null })],
  [
    'two Hosts',
    ['400 invalid_http'],
    request('GET /livez', { Host: `localhost\r\nHost: ${SECRET}.example` }),
  ],
  ['a whole address as target', ['400 invalid_http'], request(`GET http://${SECRET}.example/livez`)],
  ['a tunnel', [], request(`CONNECT ${SECRET}.example:443`)],
  ['options of everything', ['400 invalid_http'], request('OPTIONS *')],
  ['an unknown method', ['400 invalid_http'], request('SEKRET /livez')],
  ['a method that is not there', ['405 method_not_allowed'], request('TRACE /livez')],
  ['files above those of the page', ['404 not_found'], request('GET /../../../package.json')],
  ['the same, encoded', ['404 not_found'], request('GET /%2e%2e/%2e%2e/%2e%2e/package.json')],
  ['a file with a zero byte', ['404 not_found'], request('GET /index.html%00.js')],
  ['a hidden file', ['404 not_found'], request('GET /.env')],
  ['a model that is not there', ['404 model_not_found'], request(`GET /v1/models/${SECRET}`)],
  ['an encoding that is none', ['400 invalid_request'], request('GET /v1/models/%E0%A4%A')],
  ['an expectation that nobody meets', ['417'], request('GET /livez', { Expect: SECRET })],
  ...['0.9', '1.2', '2.0', '2', '3.0', '9.9', '01.1', ''].map(
    (version): Hostile => [
      `HTTP/${version}`,
      ['400 invalid_http'],
      `GET /livez HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    ],
  ),
  ['HTTP/1.0, of a health check', ['200'], 'GET /livez HTTP/1.0\r\n\r\n'],
  [
    'HTTP/1.0 with chunks, which it does not have',
    ['400 invalid_http'],
    `POST /v1/chat/completions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  [
    'HTTP/1.0, with a request behind it',
    ['200'],
    `GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${smuggled}`,
  ],
  ['no HTTP at all', ['400 invalid_http'], `${SECRET}\r\n\r\n`],
  [
    'requests one after the other, unasked',
    ['200', '404 not_found', '200'],
    request('GET /livez', { Connection: null }),
    request(`GET /${SECRET}`, { Connection: null }),
    request('GET /livez'),
  ],
  [
    'an offer of HTTP/2, which is declined',
    ['200'],
    chatRequest(bodyWith('"n":1'), offer).subarray(0, -10),
    chatRequest(bodyWith('"n":1'), offer).subarray(-10),
  ],
  ['the same in chunks', ['400 invalid_json'], chunked('2\r\n{]\r\n0\r\n\r\n', offer)],
  [
    'the same by a Host of another site',
    ['421 host_not_allowed'],
    request('GET /', { ...offer, Host: SECRET }),
  ],
  ['an offer of nothing', ['200'], request('GET /livez', { ...offer, Upgrade: '' })],
  ['an offer of much', ['200'], request('GET /livez', { ...offer, Upgrade: `${SECRET}/1, websocket` })],
  [
    'headers that do not end',
    ['408 request_timeout'],
    `GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: ${SECRET}`,
  ],
  [
    'a body that does not end',
    ['408 request_timeout'],
    chatRequest('{"model":', { 'Content-Length': '100' }),
  ],
  ['chunks that do not end', ['408 request_timeout'], chunked('1\r\n{\r\n')],
];

describe('a hostile body', () => {
  it.each(bodies)('%s: %s', async (_what, answer, body, headers) => {
    expect(await answers(chatRequest(body, headers))).toEqual([answer]);
  });
});

describe('a hostile request', () => {
  it.each(requests)('%s: %j', async (_what, expected, ...parts) => {
    expect(await answers(...parts)).toEqual(expected);
  });

  it.each([SECRET.repeat(30), `${SECRET}<script>`, `${SECRET}%0d%0aSet-Cookie: x`, `${SECRET}\xe9`, ''])(
    'has its name for itself replaced where that is unfit: %s',
    async (id) => {
      const text = await exchange(gateway.url, request('GET /livez', { 'X-Request-Id': id }));
      expect(text).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
      expect(text).not.toContain('Set-Cookie');
    },
  );

  it('keeps its name for itself where that is fit', async () => {
    const text = await exchange(gateway.url, request('GET /livez', { 'X-Request-Id': 'a:B_9.z-1' }));
    expect(text).toContain('X-Request-Id: a:B_9.z-1\r\n');
  });
});

describe('what is kept of hostile requests', () => {
  it('has nothing in it that a client chose', async () => {
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(gateway.log.length).toBeGreaterThan(bodies.length);
    for (const text of [...gateway.log, metrics]) expect(text.toLowerCase()).not.toContain(SECRET);
  });

  it('counts them by closed sets', async () => {
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(metrics).toMatch(/^flinch_refused_requests_total\{code="invalid_http"\} \d+$/m);
    expect(metrics).toMatch(/_count\{method="other",route="other",status="4xx"\} \d+$/m);
    expect(metrics).toMatch(/_count\{method="GET",route="\/v1\/models\/\*name",status="4xx"\} \d+$/m);
    const codes = [...metrics.matchAll(/code="(\w*)"/g)].map(([, code]) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});
