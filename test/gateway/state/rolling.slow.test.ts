import { execFileSync, spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Gateway, Models, startGateway } from '#gateway/index.js';
import { freePort } from '#lab/free-port.js';
import { useFolder } from '../../support/cli.js';
import { chatBody, ofType, TestSocket } from '../../support/gateway.js';
import { hasRedis, RedisServer } from '../../support/redis.js';
import { ScriptedModel } from '../../support/scripted-model.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { gone, Serving } from '../../support/serving.js';
import { vllmDouble } from '../../support/upstream-doubles.js';

/** By hand: STATE_RUNS=10 has 100 streams. */
const STREAMS = 10 * Number(process.env.STATE_RUNS ?? 1);
const WORDS = Array.from({ length: 150 }, (_, i) => ` ${i}`);

const openssl = spawnSync('openssl', ['version']).status === 0;

describe.skipIf(!hasRedis || !openssl)('a gateway that is replaced (skipped without Redis, openssl)', () => {
  const folder = useFolder();
  const running: { redis?: RedisServer; upstream?: ScriptedUpstream; other?: Gateway; leaving?: Serving } =
    {};
  let tlsUrl = '';

  /** The one that leaves has workers, and reaches Redis over TLS; its certificate is its own authority. */
  beforeAll(async () => {
    const [key, cert] = [folder.path('key.pem'), folder.path('cert.pem')];
    const asked = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
    const curve = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    execFileSync('openssl', ['req', '-x509', ...asked, ...curve, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
    const port = String(await freePort());
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    running.redis = await RedisServer.start('--tls-port', port, ...files, '--tls-auth-clients', 'no');
    tlsUrl = `rediss://localhost:${port}`;
    const pace = () => setTimeout(20);
    running.upstream = await startScriptedUpstream(vllmDouble({ answer: WORDS, pace }));
    running.other = await startGateway({
      models: new Models([new ScriptedModel()]),
      config: { listen: { port: 0 }, state: { url: running.redis.url } },
      logger: pino({ level: 'silent' }),
    });
    const upstreams = [{ url: running.upstream.url }];
    const models = { reasoner: { upstreams, max_streams: STREAMS } };
    const access = { generations: STREAMS };
    const config = { models, workers: 2, access, state: { url: tlsUrl } };
    const file = folder.write('flinch.json', JSON.stringify(config));
    running.leaving = await Serving.start(['--config', file], { NODE_EXTRA_CA_CERTS: cert });
    const { leaving, other } = running;
    for (const url of [leaving.url, other.url])
      await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 120_000);
  });
  afterAll(async () => {
    running.leaving?.kill();
    await running.other?.close();
    await running.upstream?.close();
    await running.redis?.kill();
  });

  async function begin() {
    const socket = await TestSocket.open(running.leaving!.url);
    socket.send({ type: 'generation.create', ...chatBody({ resumable: true }) });
    const { response_id, epoch } = await socket.event(ofType('generation.created'));
    await socket.event(({ offset }) => offset === 10);
    return { socket, place: { response_id, epoch } };
  }

  /** Half of the clients stay until the end; the others lose their connection, and go on at the other gateway. */
  async function finish({ socket, place }: Awaited<ReturnType<typeof begin>>, i: number) {
    if (i % 2 === 0) {
      await socket.event(ofType('generation.done'));
      return socket.events;
    }
    socket.close();
    const heard = socket.events.filter(({ offset }) => offset !== undefined);
    const next = await TestSocket.open(running.other!.url);
    next.send({ type: 'generation.resume', ...place, offset: heard.length });
    expect(await next.event(ofType('generation.resumed'))).toMatchObject({ recovered: true });
    await next.event(ofType('generation.done'));
    next.close();
    return [...heard, ...next.events];
  }

  it('lets its clients hear the end there, or at another gateway, each event once and in order', async () => {
    const leaving = running.leaving!;
    const begun = await Promise.all(Array.from({ length: STREAMS }, begin));
    leaving.kill('SIGTERM');
    for (const events of await Promise.all(begun.map(finish))) {
      const own = events.filter(({ offset }) => offset !== undefined);
      expect(own.map(({ offset }) => offset)).toEqual(own.map((_, i) => i));
      expect(own.filter(ofType('token.delta')).map(({ text }) => text)).toEqual(WORDS);
      expect(own.at(-1)).toMatchObject({ type: 'generation.done', finish_reason: 'stop' });
      expect(events.filter(ofType('error'))).toEqual([]);
    }
    await gone([leaving.pid]);
    expect(leaving.process.child.exitCode).toBe(0);
    // What it wrote while it drained can still be read elsewhere.
    const next = await TestSocket.open(running.other!.url);
    next.send({ type: 'generation.resume', ...begun[0]!.place, offset: 0 });
    await next.event(ofType('generation.done'));
    expect(next.events.filter(ofType('token.delta'))).toHaveLength(WORDS.length);
    next.close();
  });

  it('is not ready with a Redis whose certificate nobody vouches for', async () => {
    const lines: string[] = [];
    const gateway = await startGateway({
      models: new Models([new ScriptedModel()]),
      config: { listen: { port: 0 }, state: { url: tlsUrl } },
      logger: pino({}, { write: (line: string) => lines.push(line) }),
    });
    await vi.waitFor(() => expect(lines.join('')).toContain('self-signed certificate'), 120_000);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
    await gateway.close();
  });
});
