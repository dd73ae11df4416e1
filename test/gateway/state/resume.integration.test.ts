import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Models, startGateway } from '#gateway/index.js';
import { chatBody, ofType, type SocketEvent, TestSocket } from '../../support/gateway.js';
import { hasRedis } from '../../support/redis.js';
import { ScriptedModel } from '../../support/scripted-model.js';
import { useTwoGateways } from '../../support/two-gateways.js';

const ENV = { WEB_KEY: 'web-0123456789abcdef', OTHER_KEY: 'other-0123456789abc' };
const bearer = (key: keyof typeof ENV = 'WEB_KEY') => ({ Authorization: `Bearer ${ENV[key]}` });
const access = {
  keys: [
    { name: 'web', env: 'WEB_KEY' },
    { name: 'other', env: 'OTHER_KEY' },
  ],
};
/** Events between two acknowledgements of a reader are an eighth. */
const HISTORY = 64;

const errorOf = (code: string) => (event: SocketEvent) =>
  event.type === 'error' && JSON.stringify(event.error).includes(code);
const offsetsOf = (events: readonly SocketEvent[]) => events.flatMap(({ offset }) => offset ?? []);
const countFrom = (first: number, events: readonly unknown[]) => events.map((_, i) => first + i);

describe.skipIf(!hasRedis)('a generation of the other gateway (skipped without Redis)', () => {
  const models: ScriptedModel[] = [];
  const gateways = useTwoGateways({
    model: () => {
      const model = new ScriptedModel({ pauseMs: 5 });
      models.push(model);
      return model;
    },
    config: { access, streams: { resume_s: 3 }, bounds: { historyEvents: HISTORY } },
    env: ENV,
  });
  beforeEach(() => {
    for (const model of models) model.written.splice(0);
  });

  const open = (turn: number, key?: keyof typeof ENV) => TestSocket.open(gateways.at(turn).url, bearer(key));

  /** One that writes so many tokens at the first gateway, and has said five. */
  async function begin(tokens: number, changes: object = {}) {
    const socket = await open(0);
    const asked = chatBody({ max_tokens: tokens, resumable: true, ...changes });
    socket.send({ type: 'generation.create', ...asked });
    const { response_id, epoch, resumable } = await socket.event(ofType('generation.created'));
    await socket.event(({ offset }) => offset === 5);
    return { socket, place: { response_id, epoch }, resumable };
  }

  /** Whether a stream of Server-Sent Events can be, by its header. */
  async function resumableStream(): Promise<string | null> {
    const body = JSON.stringify(chatBody({ max_tokens: 3, stream: true, resumable: true }));
    const headers = { 'Content-Type': 'application/json', ...bearer() };
    const url = `${gateways.at(0).url}/v1/chat/completions`;
    const stream = await fetch(url, { method: 'POST', headers, body });
    expect(await stream.text()).toContain('[DONE]');
    return stream.headers.get('x-flinch-resumable');
  }

  async function resume(turn: number, place: object, offset: number, key?: keyof typeof ENV) {
    const socket = await open(turn, key);
    socket.send({ type: 'generation.resume', ...place, offset });
    const { recovered } = await socket.event(ofType('generation.resumed'));
    return { socket, recovered };
  }

  it('is written no faster than it is read, and comes whole', async () => {
    const { socket, place } = await begin(10 * HISTORY);
    socket.close();
    const { socket: next, recovered } = await resume(1, place, 3);
    expect(recovered).toBe(true);
    await next.event(({ offset }) => offset === 20);
    next.pause();
    // The client's own buffers take some.
    await setTimeout(1000);
    next.resume();
    await next.event(ofType('generation.done'));
    const offsets = offsetsOf(next.events);
    expect(offsets).toEqual(countFrom(3, offsets));
    expect(offsets.at(-1)).toBe(10 * HISTORY + 1);
    next.close();
  });

  it('may be cancelled from there', async () => {
    const { socket, place } = await begin(5000);
    socket.close();
    const { socket: next } = await resume(1, place, 0);
    await next.event(({ offset }) => offset === 10);
    // What no gateway says is not heard.
    const inbox = `flinch:gateway:${place.epoch}:inbox`;
    for (const text of ['no JSON', '{"type":"write"}', 'null'])
      gateways.redis.command('XADD', inbox, '*', 'm', text);
    next.send({ type: 'generation.cancel', response_id: place.response_id });
    expect(await next.event(ofType('generation.done'))).toMatchObject({ finish_reason: 'cancelled' });
    await expect.poll(() => models[0]?.written.map(({ state }) => state)).toEqual(['cancelled']);
    next.close();
  });

  it('is taken over from the gateway that has it, given back, and taken from a third', async () => {
    const { socket, place } = await begin(5000);
    const { socket: next } = await resume(1, place, 0);
    expect(await socket.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    await next.event(({ offset }) => offset === 20);
    const { socket: third } = await resume(1, place, 10);
    expect(await next.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    await third.event(({ offset }) => offset === 30);
    const { socket: back } = await resume(0, place, 25);
    expect(await third.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    await back.event(({ offset }) => offset === 50);
    for (const { events } of [third, back]) {
      const offsets = offsetsOf(events);
      expect(offsets).toEqual(countFrom(offsets[0] ?? 0, offsets));
    }
    back.close(1000);
    await expect.poll(() => models[0]?.written.map(({ state }) => state)).toEqual(['cancelled']);
  });

  it('waits for its client, not for ever', async () => {
    const { socket, place } = await begin(5000);
    socket.close();
    const { socket: next } = await resume(1, place, 0);
    await next.event(({ offset }) => offset === 10);
    next.close();
    await expect.poll(() => models[0]?.written.map(({ state }) => state)).toEqual(['cancelled']);
    expect((await resume(1, place, 0)).recovered).toBe(false);
  });

  it('is resumed by its key alone, from what is there, and by no other epoch', async () => {
    const { socket, place } = await begin(5000);
    socket.close();
    expect((await resume(1, place, 0, 'OTHER_KEY')).recovered).toBe(false);
    expect((await resume(1, { ...place, epoch: 'AAAAAAAAAAAA' }, 0)).recovered).toBe(false);
    expect((await resume(1, place, 5)).recovered).toBe(true);
    expect((await resume(1, place, 100_000)).recovered).toBe(false);
    await expect.poll(() => models[0]?.written.map(({ state }) => state)).toEqual(['cancelled']);
  });

  it('ends when its client, which never learned its id, asks again at the other', async () => {
    const { socket } = await begin(5000, { request_id: 'mine' });
    socket.close();
    await setTimeout(200);
    const next = await open(1);
    const again = chatBody({ max_tokens: 3, resumable: true, request_id: 'mine' });
    next.send({ type: 'generation.create', ...again });
    await next.event(ofType('generation.done'));
    await expect.poll(() => models[0]?.written.map(({ state }) => state)).toEqual(['cancelled']);
    next.close();
  });

  it('can be resumed after its gateway has drained and shut down', async () => {
    const leaving = await startGateway({
      models: new Models([new ScriptedModel({ pauseMs: 5 })]),
      config: { access, listen: { port: 0 }, state: { url: gateways.redis.url } },
      env: ENV,
    });
    await expect.poll(async () => (await fetch(`${leaving.url}/readyz`)).status).toBe(200);
    const socket = await TestSocket.open(leaving.url, bearer());
    socket.send({ type: 'generation.create', ...chatBody({ max_tokens: 50, resumable: true }) });
    const { response_id, epoch } = await socket.event(ofType('generation.created'));
    socket.close();
    await leaving.drain(30);
    await leaving.close();
    const { socket: next } = await resume(1, { response_id, epoch }, 0);
    await next.event(ofType('generation.done'));
    await setTimeout(100);
    expect(next.events.filter(ofType('error'))).toEqual([]);
    expect(offsetsOf(next.events)).toEqual(Array.from({ length: 52 }, (_, i) => i));
    next.close();
  });

  it('is written to Redis later if that has no room for a while', async () => {
    const { redis } = gateways;
    const { socket, place } = await begin(5000);
    redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    socket.close();
    // Half of a history ahead it waits for somebody to read it.
    const tokens = () => models[0]?.written[0]?.tokens ?? 0;
    await expect.poll(() => tokens() > HISTORY / 2 && tokens()).toBeTruthy();
    redis.command('CONFIG', 'SET', 'maxmemory', '0');
    const { socket: next, recovered } = await resume(1, place, 3);
    expect(recovered).toBe(true);
    await next.event(({ offset }) => offset === 3 * HISTORY);
    const offsets = offsetsOf(next.events);
    expect(offsets).toEqual(countFrom(3, offsets));
    next.close(1000);
  });

  it('is given up in Redis if that has no room for long, and still resumed where it is', async () => {
    const { redis } = gateways;
    const { socket, place } = await begin(5 * HISTORY);
    redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    await socket.event(ofType('generation.done'));
    socket.close();
    redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await expect.poll(() => redis.command('EXISTS', `flinch:generation:${place.response_id}`)).toBe('0');
    expect((await resume(1, place, 5 * HISTORY)).recovered).toBe(false);
    const { socket: back, recovered } = await resume(0, place, 5 * HISTORY);
    expect(recovered).toBe(true);
    await back.event(ofType('generation.done'));
    back.close();
  });

  it.each([
    ['has no room', ['CONFIG', 'SET', 'maxmemory', '1mb'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['lets nobody read', ['ACL', 'SETUSER', 'default', '-xread'], ['ACL', 'SETUSER', 'default', '+xread']],
  ])('ends within seconds for who reads it there if Redis %s', async (_, refuse, allow) => {
    const { redis } = gateways;
    const { socket, place } = await begin(5000);
    socket.close();
    const { socket: next } = await resume(1, place, 0);
    await next.event(({ offset }) => offset === 10);
    onTestFinished(() => void redis.command(...allow));
    redis.command(...refuse);
    const refused = performance.now();
    expect(await next.event(ofType('error'))).toMatchObject({ error: { code: 'state_unavailable' } });
    expect(performance.now() - refused).toBeLessThan(15_000);
    next.close();
  });

  it('cannot be resumed through a Redis without room, and says so at once', async () => {
    const { redis } = gateways;
    const { socket, place } = await begin(5000);
    socket.close();
    onTestFinished(() => void redis.command('CONFIG', 'SET', 'maxmemory', '0'));
    redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    const next = await open(1);
    const asked = performance.now();
    next.send({ type: 'generation.resume', ...place, offset: 0 });
    expect(await next.event(errorOf('state_unavailable'))).toMatchObject({ response_id: place.response_id });
    expect(performance.now() - asked).toBeLessThan(2000);
    expect((await resume(0, place, 0)).recovered).toBe(true);
    next.close();
  });

  it('is not resumable, and says so, while Redis is away or full; those that run go on', async () => {
    const { socket, place } = await begin(400);
    const { redis } = gateways;
    redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    const full = await begin(3 * HISTORY);
    expect(full.resumable).toBe(false);
    await full.socket.event(ofType('generation.done'));
    redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await redis.kill();
    const away = await begin(3 * HISTORY);
    expect(away.resumable).toBe(false);
    await away.socket.event(ofType('generation.done'));
    await socket.event(ofType('generation.done'));
    for (const { events } of [socket, full.socket, away.socket])
      expect(offsetsOf(events)).toEqual(countFrom(0, offsetsOf(events)));
    const next = await open(1);
    next.send({ type: 'generation.resume', ...place, offset: 0 });
    expect(await next.event(errorOf('state_unavailable'))).toMatchObject({ response_id: place.response_id });
    expect(await resumableStream()).toBe('false');
    await redis.start();
    await expect.poll(async () => (await begin(10)).resumable).toBe(true);
    expect(await resumableStream()).toBe('true');
    for (const each of [socket, full.socket, away.socket, next]) each.close();
  });
});

describe.skipIf(!hasRedis)('a Redis that is stopped (skipped without Redis)', () => {
  /** By hand: STATE_RUNS=10 is half a minute, less than `resume_s` and 10 s. */
  const PAUSE_MS = Math.min(3000 * Number(process.env.STATE_RUNS ?? 1), 30_000);
  const gateways = useTwoGateways({
    model: () => new ScriptedModel({ pauseMs: 5 }),
    config: { streams: { resume_s: 30 }, bounds: { historyEvents: HISTORY } },
  });

  it('holds up a reader at the other gateway, which then goes on', {
    timeout: 600_000 + 2 * PAUSE_MS,
  }, async () => {
    const socket = await TestSocket.open(gateways.at(0).url);
    socket.send({ type: 'generation.create', ...chatBody({ max_tokens: 800, resumable: true }) });
    const { response_id, epoch } = await socket.event(ofType('generation.created'));
    await socket.event(({ offset }) => offset === 5);
    socket.close();
    const next = await TestSocket.open(gateways.at(1).url);
    next.send({ type: 'generation.resume', response_id, epoch, offset: 0 });
    await next.event(({ offset }) => offset === 10);
    gateways.redis.stop();
    await setTimeout(PAUSE_MS);
    gateways.redis.goOn();
    await next.event(({ type }) => type === 'generation.done' || type === 'error');
    const offsets = offsetsOf(next.events);
    expect(offsets).toEqual(countFrom(0, offsets));
    expect(offsets).toHaveLength(802);
    next.close();
  });
});
