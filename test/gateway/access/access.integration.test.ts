import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ConfigError, type ConfigInput, Models, startGateway } from '#gateway/index.js';
import { TestSocket } from '../../support/gateway.js';
import { type TestGateway, useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const WEB = 'web-key-0123456789';
const SCRAPER = 'scraper-key-0123456789';
const KEYS: ConfigInput['access'] = {
  keys: [
    { name: 'web', sha256: createHash('sha256').update(WEB).digest('hex') },
    { name: 'scraper', env: 'SCRAPER_KEY', metrics: true },
  ],
};
const ENV = { SCRAPER_KEY: SCRAPER };

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

async function post(url: string, path: string, headers: Record<string, string>, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const chat = (url: string, headers: Record<string, string> = {}, content = 'hello') =>
  post(url, '/v1/chat/completions', headers, ask(content));

/** What the handshake is answered with. */
async function handshake(url: string, query = '', headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream${query}`, 'flinch.v1', { headers });
  return new Promise<{ status: number; code?: string }>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => {
      socket.terminate();
      resolve({ status: 101 });
    });
    socket.on('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (data) => (text += data));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, code: JSON.parse(text).error.code }),
      );
    });
  });
}

describe('API keys', () => {
  it('are asked for by all of /v1, but not by the page and by probes', async () => {
    const { url } = await useTestGateway({ access: KEYS }, { env: ENV });
    for (const path of ['/', '/healthz', '/livez', '/readyz'])
      expect((await fetch(url + path)).status).toBe(200);
    for (const path of ['/v1/models', '/v1/models/waiting', '/v1/chat/completions/x', '/metrics']) {
      expect((await fetch(url + path)).status, path).toBe(401);
    }
    expect((await post(url, '/v1/tickets', {})).status).toBe(401);
    expect(await handshake(url)).toEqual({ status: 401, code: 'missing_api_key' });
    const refused = await chat(url);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="flinch"');
    expect(refused.body.error).toMatchObject({ type: 'invalid_request_error', code: 'missing_api_key' });
  });

  it('open what they are for', async () => {
    const { url } = await useTestGateway({ access: KEYS }, { env: ENV });
    expect((await chat(url, bearer(WEB))).status).toBe(200);
    expect((await chat(url, { Authorization: `bearer  ${WEB}` })).status).toBe(200);
    expect(await handshake(url, '', bearer(WEB))).toEqual({ status: 101 });
    expect((await fetch(`${url}/metrics`, { headers: bearer(SCRAPER) })).status).toBe(200);
    const wrong = await chat(url, bearer(SCRAPER));
    expect([wrong.status, wrong.body.error.code]).toEqual([403, 'key_not_allowed']);
    expect((await fetch(`${url}/metrics`, { headers: bearer(WEB) })).status).toBe(403);
  });

  it.each([
    ['another key', 'Bearer web-key-012345678X'],
    ['the beginning of one', 'Bearer web-key'],
    ['its hash', `Bearer ${createHash('sha256').update(WEB).digest('hex')}`],
    ['another scheme', `Basic ${WEB}`],
    ['no scheme', WEB],
    ['nothing', 'Bearer '],
    ['two', `Bearer ${WEB} ${WEB}`],
  ])('refuse %s', async (_what, authorization) => {
    const { url } = await useTestGateway({ access: KEYS }, { env: ENV });
    const { status, body } = await chat(url, { Authorization: authorization });
    expect([status, body.error.code]).toEqual([401, 'invalid_api_key']);
    expect(JSON.stringify(body)).not.toContain('web-key');
  });

  it('are not asked for where there are none, whatever a client sends', async () => {
    const { url } = await useTestGateway();
    expect((await chat(url, bearer('whatever'))).status).toBe(200);
    expect(await handshake(url)).toEqual({ status: 101 });
  });

  it('must be there for other addresses than loopback', async () => {
    const start = (access: ConfigInput['access'], env = {}) =>
      startGateway({ models: new Models([]), config: { listen: { host: '0.0.0.0', port: 0 }, access }, env });
    await expect(start({})).rejects.toThrow(ConfigError);
    await expect(start({})).rejects.toThrow('add access.keys');
    await expect(start(KEYS)).rejects.toThrow('the variable SCRAPER_KEY is not set');
    await expect(start(KEYS, { SCRAPER_KEY: 'short' })).rejects.toThrow('at least 16 characters');
    await (await start(KEYS, ENV)).close();
    await (await start({ allow_anonymous: true })).close();
  });
});

describe('tickets', () => {
  const ticketOf = async ({ url }: TestGateway): Promise<string> => {
    const { status, headers, body } = await post(url, '/v1/tickets', bearer(WEB));
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    return body.ticket;
  };

  it('open one WebSocket', async () => {
    const gateway = await useTestGateway({ access: KEYS }, { env: ENV });
    const ticket = await ticketOf(gateway);
    expect(await handshake(gateway.url, `?ticket=${ticket}`)).toEqual({ status: 101 });
    expect(await handshake(gateway.url, `?ticket=${ticket}`)).toEqual({
      status: 401,
      code: 'invalid_ticket',
    });
  });

  it('open nothing else, and keys do not stand in their place', async () => {
    const gateway = await useTestGateway({ access: KEYS }, { env: ENV });
    const ticket = await ticketOf(gateway);
    expect((await chat(gateway.url, bearer(ticket))).status).toBe(401);
    expect((await fetch(`${gateway.url}/v1/models?ticket=${ticket}`)).status).toBe(401);
    expect(await handshake(gateway.url, `?ticket=${WEB}`)).toMatchObject({ status: 401 });
    expect((await post(gateway.url, '/v1/tickets', bearer(SCRAPER))).status).toBe(403);
  });

  it('are not spent on a handshake of a foreign page', async () => {
    const gateway = await useTestGateway({ access: KEYS }, { env: ENV });
    const query = `?ticket=${await ticketOf(gateway)}`;
    expect(await handshake(gateway.url, query, { Origin: 'https://evil.example' })).toMatchObject({
      status: 403,
    });
    expect(await handshake(gateway.url, query)).toEqual({ status: 101 });
  });
});

describe('pages of other origins', () => {
  const config = { access: { ...KEYS, origins: ['https://chat.example'] } };

  it('may use the gateway if they are allowed', async () => {
    const { url } = await useTestGateway(config, { env: ENV });
    const { status, headers } = await chat(url, { ...bearer(WEB), Origin: 'https://chat.example' });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe('https://chat.example');
    expect(headers.get('vary')).toContain('Origin');
    expect(await handshake(url, '', { ...bearer(WEB), Origin: 'https://chat.example' })).toEqual({
      status: 101,
    });
    const preflight = await fetch(`${url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://chat.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,x-stainless-lang',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-stainless-lang');
    expect(headers.get('access-control-expose-headers')).toBe('*');
  });

  it('can read why they were refused a key', async () => {
    const { url } = await useTestGateway(config, { env: ENV });
    const { status, headers } = await chat(url, { Origin: 'https://chat.example' });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([401, 'https://chat.example']);
  });

  it.each(['https://evil.example', 'null', 'http://chat.example'])('are refused: %s', async (origin) => {
    const { url } = await useTestGateway(config, { env: ENV });
    for (const method of ['GET', 'OPTIONS']) {
      const headers = { ...bearer(WEB), Origin: origin, 'Access-Control-Request-Method': 'POST' };
      const response = await fetch(`${url}/v1/models`, { method, headers });
      expect(response.status).toBe(403);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
    expect(await handshake(url, '', { ...bearer(WEB), Origin: origin })).toEqual({
      status: 403,
      code: 'origin_not_allowed',
    });
  });
});

describe('limits', () => {
  it('count the requests of each key in a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    onTestFinished(() => void vi.useRealTimers());
    const access = { ...KEYS, requests_per_minute: 2 };
    const { url } = await useTestGateway({ access }, { env: ENV });
    expect((await chat(url, bearer(WEB))).status).toBe(200);
    vi.setSystemTime(45_000);
    expect(await handshake(url, '', bearer(WEB))).toEqual({ status: 101 });
    const { status, headers, body } = await chat(url, bearer(WEB));
    expect([status, headers.get('retry-after'), body.error.code]).toEqual([429, '15', 'rate_limited']);
    expect(await handshake(url, '', bearer(WEB))).toEqual({ status: 429, code: 'rate_limited' });
    expect((await fetch(`${url}/metrics`, { headers: bearer(SCRAPER) })).status).toBe(200);
    vi.setSystemTime(60_000);
    expect((await chat(url, bearer(WEB))).status).toBe(200);
  });

  it('count each generation on a WebSocket as a request', async () => {
    const { url } = await useTestGateway({ access: { requests_per_minute: 3 } }); // one is the handshake
    const socket = await TestSocket.open(url);
    for (const id of ['a', 'b', 'c']) {
      socket.send({ type: 'generation.create', ...ask('hello'), request_id: id });
      await socket.event(({ request_id }) => request_id === id);
    }
    const errors = socket.events.filter(({ type }) => type === 'error');
    expect(errors).toMatchObject([{ request_id: 'c', error: { code: 'rate_limited' } }]);
    socket.close();
  });

  it('count the generations of a key that are under way, wherever', async () => {
    const gateway = await useTestGateway({ access: { ...KEYS, generations: 2 } }, { env: ENV });
    const waiting = [chat(gateway.url, bearer(WEB), 'wait'), chat(gateway.url, bearer(WEB), 'wait')];
    await expect.poll(() => gateway.live.size).toBe(2);
    const { status, headers, body } = await chat(gateway.url, bearer(WEB));
    expect([status, headers.get('retry-after'), body.error.code]).toEqual([429, '1', 'too_many_generations']);
    gateway.model.finish();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
    expect((await chat(gateway.url, bearer(WEB))).status).toBe(200);
  });

  it('bound prompts and responses, by the name of the field', async () => {
    const gateway = await useTestGateway({ limits: { prompt_characters: 10, response_tokens: 5 } });
    const refused = async (changes: object) =>
      (await post(gateway.url, '/v1/chat/completions', {}, ask('hello', changes))).body.error;
    expect(await refused({ messages: [{ role: 'user', content: 'hello there' }] })).toMatchObject({
      code: 'prompt_too_long',
      param: 'messages',
    });
    expect(await refused({ max_tokens: 6 })).toMatchObject({ code: 'invalid_value', param: 'max_tokens' });
    expect(await refused({ max_completion_tokens: 6 })).toMatchObject({ param: 'max_completion_tokens' });
    expect(await refused({ max_completion_tokens: 5 })).toBeUndefined();
    expect(gateway.model.asked).toMatchObject({ maxTokens: 5 });
  });
});
