import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ConfigInput } from '#gateway/index.js';
import { Scrape } from '../../support/metrics.js';
import { hasRedis, RedisServer, useRedis } from '../../support/redis.js';
import { startTestGateway, type TestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const ENV = { WEB_KEY: 'web-0123456789abcdef', FEW_KEY: 'few-0123456789abcdef' };
const bearer = (key: keyof typeof ENV = 'WEB_KEY') => ({ Authorization: `Bearer ${ENV[key]}` });
/** Of the key `web`, in a minute. */
const RATE = 300;

const access: ConfigInput['access'] = {
  keys: [
    { name: 'web', env: 'WEB_KEY', metrics: true, generate: true, requests_per_minute: RATE },
    { name: 'few', env: 'FEW_KEY', generations: 4 },
  ],
};

const gateways: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});

async function open(state: NonNullable<ConfigInput['state']>): Promise<TestGateway> {
  const gateway = await startTestGateway({ access, state }, { env: ENV });
  gateways.push(gateway);
  return gateway;
}

const ready = async ({ url }: TestGateway) => (await fetch(`${url}/readyz`)).status === 200;
const health = async ({ url }: TestGateway) => (await fetch(`${url}/healthz`)).json();

/** Two of them, which have reached their Redis. */
async function openTwo(server: RedisServer, failure_mode?: 'open' | 'closed') {
  const state = { url: server.url, ...(failure_mode && { failure_mode }) };
  const both = [await open(state), await open(state)] as const;
  for (const gateway of both) await expect.poll(() => ready(gateway)).toBe(true);
  return both;
}

async function chat({ url }: TestGateway, key: keyof typeof ENV, content = 'hello', changes: object = {}) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...bearer(key) },
    body: JSON.stringify(ask(content, changes)),
  });
  const text = await response.text();
  const code: string | null = response.ok ? null : JSON.parse(text).error.code;
  return { status: response.status, code };
}

const models = ({ url }: TestGateway) => fetch(`${url}/v1/models`, { headers: bearer() });
const issue = ({ url }: TestGateway) => fetch(`${url}/v1/tickets`, { method: 'POST', headers: bearer() });

async function ticketOf(gateway: TestGateway): Promise<string> {
  const { ticket } = await (await issue(gateway)).json();
  return ticket;
}

/** Whether a handshake with the ticket is taken. */
async function connects({ url }: TestGateway, ticket: string): Promise<boolean> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream?ticket=${ticket}`, 'flinch.v1');
  const opened = await new Promise<boolean>((resolve) => {
    socket.once('open', () => resolve(true)).once('error', () => resolve(false));
  });
  socket.terminate();
  return opened;
}

const metrics = async ({ url }: TestGateway) =>
  new Scrape(await (await fetch(`${url}/metrics`, { headers: bearer() })).text());

describe.skipIf(!hasRedis)('two gateways with one Redis (skipped where it is not installed)', () => {
  const redis = useRedis();
  beforeEach(() => {
    redis.server.command('FLUSHALL');
  });

  it('count the requests of a key together, under concurrent load', async () => {
    const both = await openTwo(redis.server);
    const statuses: number[] = [];
    const client = async (gateway: TestGateway): Promise<void> => {
      for (let i = 0; i < RATE / 6; i++) statuses.push((await models(gateway)).status);
    };
    // Twice what the key may ask, on twelve connections.
    await Promise.all(Array.from({ length: 12 }, (_, i) => client(both[i % 2]!)));
    const taken = statuses.filter((status) => status === 200).length;
    expect([statuses.length, taken]).toEqual([2 * RATE, RATE]);
    const refused = await models(both[0]);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('count the generations of a key together, and give places back', async () => {
    const both = await openTwo(redis.server);
    const asked = Array.from({ length: 8 }, (_, i) => chat(both[i % 2]!, 'FEW_KEY', 'wait'));
    const over = () => Promise.race([Promise.all(asked).then(() => 'over'), setTimeout(20, 'waiting')]);
    await expect.poll(() => both.reduce((sum, { model }) => sum + model.waited, 0)).toBe(4);
    expect(redis.server.command('ZCARD', 'flinch:places:generations:few')).toBe('4');
    expect(await over()).toBe('waiting');
    for (const { model } of both) model.finish();
    const codes = (await Promise.all(asked)).map(({ code }) => code ?? 'answered').sort();
    expect(codes).toEqual([...Array(4).fill('answered'), ...Array(4).fill('too_many_generations')]);
    await expect.poll(() => redis.server.command('EXISTS', 'flinch:places:generations:few')).toBe('0');
  });

  it('hold places for as long as they are used, and those of a gateway that died for a while', async () => {
    const [gateway] = await openTwo(redis.server);
    const key = 'flinch:places:generations:few';
    const asked = chat(gateway, 'FEW_KEY', 'wait');
    await expect.poll(() => gateway.model.waited).toBe(1);
    const [, before = ''] = redis.server.command('ZRANGE', key, '0', '-1', 'WITHSCORES').split('\n');
    const renewed = () => redis.server.command('ZRANGE', key, '0', '-1', 'WITHSCORES').split('\n')[1];
    await expect.poll(renewed).not.toBe(before);
    expect(Number(renewed())).toBeGreaterThan(Number(before));
    gateway.model.finish();
    expect((await asked).status).toBe(200);
    // Of others, which say no more: all places.
    const later = String(Date.now() + 1500);
    redis.server.command('ZADD', key, ...['a', 'b', 'c', 'd'].flatMap((member) => [later, member]));
    expect((await chat(gateway, 'FEW_KEY')).code).toBe('too_many_generations');
    await expect.poll(async () => (await chat(gateway, 'FEW_KEY')).status).toBe(200);
  });

  it('take a ticket of either once', async () => {
    const both = await openTwo(redis.server);
    const ticket = await ticketOf(both[0]);
    expect(redis.server.command('--scan', '--pattern', `*${ticket}*`)).toBe('');
    const tried = await Promise.all(Array.from({ length: 10 }, (_, i) => connects(both[i % 2]!, ticket)));
    expect(tried.filter(Boolean)).toHaveLength(1);
    expect(await connects(both[1], await ticketOf(both[0]))).toBe(true);
  });
});

describe.skipIf(!hasRedis)('a gateway whose Redis is away', () => {
  const redis = useRedis();
  beforeEach(async () => {
    redis.server.command('FLUSHALL');
  });

  it('is not ready before it was reached, and says why without the password', async () => {
    const server = await RedisServer.start();
    await server.kill();
    const url = `redis://me:secret-of-redis@127.0.0.1:${server.port}`;
    const gateway = await open({ url });
    await expect.poll(() => gateway.log.join('')).toContain('Redis is away');
    expect(gateway.log.join('')).toContain('ECONNREFUSED');
    expect(await ready(gateway)).toBe(false);
    expect(await health(gateway)).toMatchObject({ status: 'degraded', state: { up: false } });
    await server.start();
    // It has no user of that name.
    await expect.poll(() => gateway.log.join('')).toContain('WRONGPASS');
    expect(await ready(gateway)).toBe(false);
    server.command('ACL', 'SETUSER', 'me', 'on', '>secret-of-redis', '~*', '+@all');
    await expect.poll(() => ready(gateway)).toBe(true);
    expect((await models(gateway)).status).toBe(200);
    const scrape = (await metrics(gateway)).text;
    const seen = [gateway.log.join(''), scrape, JSON.stringify(await health(gateway))].join('');
    expect(seen).not.toContain('secret-of-redis');
    await server.kill();
  });

  it.each([
    ['killed', () => redis.server.kill(), () => redis.server.start()],
    ['stopped', () => redis.server.stop(), () => redis.server.goOn()],
  ])('counts alone while it is %s, and together again once it is back', async (_how, leave, comeBack) => {
    const [gateway] = await openTwo(redis.server);
    expect((await metrics(gateway)).sum('flinch_redis_up')).toBe(1);
    const waiting = Array.from({ length: 3 }, () => chat(gateway, 'FEW_KEY', 'wait'));
    await expect.poll(() => redis.server.command('ZCARD', 'flinch:places:generations:few')).toBe('3');
    await leave();
    const more = Array.from({ length: 3 }, () => chat(gateway, 'FEW_KEY', 'wait'));
    const codes = more.map((each) => each.then(({ code }) => code));
    expect(await Promise.race(codes)).toBe('too_many_generations');
    expect((await issue(gateway)).status).toBe(503);
    expect((await models(gateway)).status).toBe(200);
    expect(await ready(gateway)).toBe(true);
    expect(await health(gateway)).toMatchObject({ status: 'degraded', state: { up: false } });
    const away = await metrics(gateway);
    expect(away.sum('flinch_redis_up')).toBe(0);
    expect(away.sum('flinch_redis_command_failures_total')).toBeGreaterThan(0);
    await comeBack();
    await expect.poll(async () => (await health(gateway)).status).toBe('ok');
    expect(gateway.log.join('')).toContain('Redis is back');
    // Those that began while it was away count, too.
    await expect.poll(() => redis.server.command('ZCARD', 'flinch:places:generations:few')).toBe('4');
    gateway.model.finish();
    await Promise.all([...waiting, ...more]);
    await expect.poll(() => redis.server.command('ZCARD', 'flinch:places:generations:few')).toBe('0');
  });

  it('refuses what is limited if it is to fail closed, but not its metrics', async () => {
    const server = await RedisServer.start();
    const [gateway] = await openTwo(server, 'closed');
    await server.kill();
    await expect.poll(() => ready(gateway)).toBe(false);
    const refused = await chat(gateway, 'WEB_KEY');
    expect(refused).toEqual({ status: 503, code: 'state_unavailable' });
    expect((await metrics(gateway)).sum('flinch_redis_up')).toBe(0);
    await server.start();
    await expect.poll(() => ready(gateway)).toBe(true);
    expect((await chat(gateway, 'WEB_KEY')).status).toBe(200);
    await server.kill();
  });

  it('counts alone while its memory is full, and logs it', async () => {
    const [gateway] = await openTwo(redis.server);
    redis.server.command('CONFIG', 'SET', 'maxmemory', '1mb');
    expect((await chat(gateway, 'FEW_KEY')).status).toBe(200);
    expect((await issue(gateway)).status).toBe(503);
    expect(gateway.log.join('')).toContain('OOM');
    const scrape = await metrics(gateway);
    expect(scrape.sum('flinch_redis_command_failures_total', { reason: 'refused' })).toBeGreaterThan(0);
    expect(scrape.sum('flinch_redis_up')).toBe(1);
    redis.server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect((await issue(gateway)).status).toBe(201);
  });
});
