import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import express, { type Express } from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGateway, Models, type MountedGatewayOptions } from '#gateway/index.js';
import { openState } from '#redis/index.js';
import { SOURCES, startScript, useFolder } from '../support/cli.js';
import { post, TestSocket } from '../support/gateway.js';
import { chatRequest, exchange, handshake, request } from '../support/raw.js';
import { ask, WaitingModel } from '../support/waiting-model.js';

const GATEWAY = new URL('../../gateway/index.ts', import.meta.url).href;
const folder = useFolder();
const openssl = spawnSync('openssl', ['version']).status === 0;
if (!openssl) console.warn('mounted.test.ts: no openssl, the test over TLS is skipped');

interface HostOptions {
  readonly config?: MountedGatewayOptions['config'];
  readonly path?: string;
  /** What the application has before the gateway. */
  readonly before?: (host: Express) => void;
  readonly serve?: (host: Express) => Server;
}

/** An application of somebody else's with a gateway in it, and a route and a page of its own. */
async function hostWith({
  config = { access: { allow_anonymous: true } },
  path = '/ai',
  before = () => {},
  serve = (host) => createServer(host),
}: HostOptions = {}) {
  const model = new WaitingModel();
  const gateway = createGateway({
    models: new Models([model]),
    config,
    env: { KEY: 'a-key-for-these-tests' },
  });
  const host = express();
  before(host);
  host.use(path, gateway.app);
  host.get('/v1/models', (_req, res) => void res.send('not the gateway'));
  const server = serve(host);
  gateway.attach(server, path);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  onTestFinished(async () => {
    await gateway.close();
    server.close();
    server.closeAllConnections();
  });
  return { gateway, model, server, origin, url: `${origin}${path}` };
}

describe('a gateway in an Express application', () => {
  it('answers, streams and talks on WebSockets below its path', async () => {
    const { gateway, url } = await hostWith();
    const whole = await (await post(url, ask('hello'))).json();
    expect(whole).toMatchObject({ choices: [{ message: { content: 'Hello there' } }] });

    const streamed = await (await post(url, ask('hello', { stream: true }))).text();
    expect(streamed).toMatch(/"content":" there".*data: \[DONE\]\n\n$/s);

    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.create', ...ask('hello') });
    await socket.event(({ type }) => type === 'generation.done');
    expect(await gateway.metrics.text()).toMatch(/^flinch_connections\{kind="websocket"\} 1$/m);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^flinch_connections\{kind="http"\} [1-9]/m);
  });

  it('has its page there, whose links stay below the path', async () => {
    const { url } = await hostWith();
    const page = await fetch(url); // without the slash that relative links need
    expect(page.url).toBe(`${url}/`);
    const links = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThanOrEqual(3);
    for (const link of links) {
      const target = new URL(link, page.url);
      expect(target.href).toContain(`${url}/`);
      expect((await fetch(target)).status, link).toBe(200);
    }
  });

  it("leaves the application's routes alone, and answers errors of its own alone", async () => {
    const { origin, url } = await hostWith();
    expect(await (await fetch(`${origin}/v1/models`)).text()).toBe('not the gateway');
    const nothing = await fetch(`${origin}/nothing`);
    expect([nothing.status, nothing.headers.get('x-request-id')]).toEqual([404, null]);
    expect(await (await fetch(`${url}/nothing`)).json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it("leaves the application's own upgrades alone", async () => {
    const { server, origin } = await hostWith();
    server.on('upgrade', ({ url = '' }, connection: Duplex) => {
      if (!url.startsWith('/ai/')) connection.end(`the application took ${url}`);
    });
    // The second begins alike, but is not below ours.
    for (const path of ['/own', '/aiother/v1/stream']) {
      expect(await exchange(origin, handshake({}, `GET ${path}`))).toBe(`the application took ${path}`);
    }
    expect(await exchange(origin, handshake({}, 'GET /ai/nothing'))).toContain('there is no WebSocket at');
  });

  it('has upgrades that nobody takes served as if they had not asked', async () => {
    const { origin } = await hostWith();
    expect(await exchange(origin, handshake({}, 'GET /v1/models'))).toContain('not the gateway');
    const h2c = request('GET /ai/livez', { Connection: 'Upgrade', Upgrade: 'h2c' });
    expect(await exchange(origin, h2c)).toContain('{"status":"alive"}');
  });

  it('takes capitals for small letters, as Express does', async () => {
    const { url, origin } = await hostWith({ path: '/AI' });
    expect((await fetch(`${origin}/ai/livez`)).status).toBe(200);
    for (const base of [url, `${origin}/ai`]) (await TestSocket.open(base)).close();
  });

  it('lets go of servers and models when it closes', async () => {
    const listeners = new Set<(ms: number) => void>();
    const process = {
      pid: undefined,
      device: undefined,
      precision: 'fp32',
      restarts: 0,
      waiting: 0,
      servers: [],
    } as const;
    const engine = {
      onPass: (listener: (ms: number) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      status: () => ({ streams: 0, decode: process, score: process }),
    };
    const inside = { provider: 'flinch', engine: { engine, processes: ['score'] } } as const;
    const models = new Models([Object.assign(new WaitingModel(), { inside })]);
    const server = createServer();
    const counts = () => ['upgrade', 'connection'].map((name) => server.listenerCount(name));
    const before = counts();
    const gateway = createGateway({ models, config: { access: { allow_anonymous: true } } });
    gateway.attach(server, '/ai');
    gateway.attach(server, '/b');
    expect([listeners.size, ...counts()]).not.toEqual([0, ...before]);
    await gateway.close();
    expect([listeners.size, ...counts()]).toEqual([0, ...before]);
  });

  it.skipIf(!openssl)('has them served so over TLS', async () => {
    const [key, cert] = [folder.path('key.pem'), folder.path('cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-days', '1', '-nodes', '-newkey', 'ec'];
    const curve = ['-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    execFileSync('openssl', ['req', '-x509', ...subject, ...curve, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
    const tls = { key: folder.read('key.pem'), cert: folder.read('cert.pem') };
    const { origin } = await hostWith({ serve: (host) => createTlsServer(tls, host) });
    const socket = connectTls({ port: Number(new URL(origin).port), rejectUnauthorized: false });
    socket.end(handshake({}, 'GET /v1/models'));
    const heard = await socket.toArray();
    expect(Buffer.concat(heard).toString()).toContain('not the gateway');
  });

  it('checks names, origins, keys and form as on its own server', async () => {
    const anonymous = await hostWith();
    const keyed = await hostWith({ config: { access: { keys: [{ name: 'web', env: 'KEY' }] } } });
    const models = (headers: Record<string, string>) => request('GET /ai/v1/models', headers);
    expect(await exchange(anonymous.origin, models({ Host: 'evil.example' }))).toContain('421 ');
    expect(await exchange(anonymous.origin, models({ Origin: 'https://evil.example' }))).toContain('403 ');
    expect(await exchange(keyed.origin, models({}))).toContain('401 ');
    expect(await exchange(keyed.origin, handshake({}, 'GET /ai/v1/stream'))).toContain('401 ');
    const right = { Authorization: 'Bearer a-key-for-these-tests' };
    expect(await exchange(keyed.origin, models(right))).toContain('200 OK');
    const whole = request('GET http://127.0.0.1/ai/v1/models');
    expect(await exchange(anonymous.origin, whole)).toContain('invalid_http');
  });

  it('will not let everybody in by accident, nor be mounted nowhere', async () => {
    const models = new Models([]);
    expect(() => createGateway({ models, config: {} })).toThrow(/access.keys: .*allow_anonymous/);
    const gateway = createGateway({ models, config: { access: { allow_anonymous: true } } });
    // @ts-expect-error: as whoever has no types may call it
    expect(() => createGateway({ models })).toThrow(/access.keys: .*allow_anonymous/);
    expect(() => gateway.attach(createServer(), 'ai')).toThrow('path: ai does not begin with /');
    expect(() => createGateway({ models, config: { limits: { body_bytes: 1 } } })).toThrow(
      'limits.body_bytes',
    );
  });

  it('is told what opens a shared state', async () => {
    const config = { access: { allow_anonymous: true }, state: { url: 'redis://127.0.0.1:1' } } as const;
    const options = { models: new Models([]), config };
    expect(() => createGateway(options)).toThrow(/^state: .*openState.*flinch-redis/);
    await createGateway({ ...options, openState }).close();
  });

  it('says so where the application reads its bodies', async () => {
    const { url } = await hostWith({ before: (host) => host.use(express.json()) });
    const response = await post(url, ask('hello'));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { code: 'internal_error', message: expect.stringContaining('mount the gateway before') },
    });
  });

  it('writes faults of the gateway to standard error where it was given no log', async () => {
    const script = folder.write(
      'host.mjs',
      `import { createServer } from 'node:http';
      import { createGateway, Models } from ${JSON.stringify(GATEWAY)};
      const { app } = createGateway({ models: new Models([]), config: { access: { allow_anonymous: true } } });
      const server = createServer((req, res) => app(Object.assign(req, { body: {} }), res));
      server.listen(0, '127.0.0.1', async () => {
        const url = \`http://127.0.0.1:\${server.address().port}/v1\`;
        await fetch(\`\${url}/nothing\`);
        await fetch(\`\${url}/chat/completions\`, { method: 'POST', headers: { Connection: 'close' } });
        server.close();
      });`,
    );
    const { code, stdout, stderr } = await startScript(script, [], '', SOURCES).finished;
    expect([code, stdout]).toEqual([0, '']);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringContaining('the body was already read by the application')]);
  });

  it('ends a response that waits behind one of the application with its connection', async () => {
    const { gateway, origin } = await hostWith({ before: (host) => void host.get('/slow', () => {}) });
    const body = JSON.stringify(ask('wait', { stream: true }));
    const chat = chatRequest(body, { Connection: null });
    const below = Buffer.from(chat.toString('latin1').replace(' /v1', ' /ai/v1'), 'latin1');
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(Buffer.concat([request('GET /slow', { Connection: null }), below, below]));
    await expect.poll(() => gateway.live.size).toBe(1);
    socket.destroy();
    await expect.poll(() => gateway.live.size).toBe(0);
  });

  it('drains, and leaves the server to the application', async () => {
    const { gateway, model, origin, url } = await hostWith();
    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(({ type }) => type === 'token.delta');
    const drained = gateway.drain();
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    model.finish();
    await drained;
    await socket.event(({ type }) => type === 'generation.done');
    await expect.poll(() => socket.closeCode).toBe(1001);
    expect(await (await fetch(`${origin}/v1/models`)).text()).toBe('not the gateway');
  });

  it('drains for a time alone', async () => {
    const { gateway, url } = await hostWith();
    for (const seconds of [-1, Number.NaN]) {
      await expect(gateway.drain(seconds)).rejects.toThrow('seconds: must be a number from 0');
    }
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('takes a path with slashes at its end, deep ones, and the root', async () => {
    for (const path of ['/ai/', '/deep/down', '/']) {
      const { url } = await hostWith({ path });
      const socket = await TestSocket.open(url.replace(/\/$/, ''));
      socket.send({ type: 'generation.create', ...ask('hello') });
      await socket.event(({ type }) => type === 'generation.done');
    }
  });
});
