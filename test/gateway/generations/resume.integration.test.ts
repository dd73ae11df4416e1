import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '#gateway/index.js';
import { chatBody, ofType, type SocketEvent, TestSocket, unixEntrance } from '../../support/gateway.js';
import { scriptedGateway } from '../../support/scripted-model.js';

const done = ofType('generation.done');
const create = (changes: object = {}) => ({ type: 'generation.create', ...chatBody(changes) });

/** Starts a generation on a new connection. */
async function begin(url: string, changes: object = {}) {
  const socket = await TestSocket.open(url);
  socket.send(create({ resumable: true, max_tokens: 100, ...changes }));
  const created = await socket.event(ofType('generation.created'));
  return { socket, created, response_id: created.response_id, epoch: created.epoch };
}

/** Asks a new connection, or the one given, to go on. */
async function resume(url: string, place: object, socket?: TestSocket) {
  const next = socket ?? (await TestSocket.open(url));
  const before = next.events.length;
  next.send({ type: 'generation.resume', request_id: 'again', ...place });
  await next.event((event) => ofType('generation.resumed')(event) && next.events.indexOf(event) >= before);
  const after = () => {
    const heard = next.events.slice(before);
    return heard.slice(heard.findIndex(ofType('generation.resumed')) + 1);
  };
  return { socket: next, resumed: next.events.findLast(ofType('generation.resumed')), after };
}

const connections = ({ server }: Gateway): Promise<number> =>
  new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

const offsets = (events: readonly SocketEvent[]) => events.map(({ offset }) => offset);
const from = (offset: number, to: number) => Array.from({ length: to - offset }, (_, i) => offset + i);

describe('generation.resume', () => {
  it('goes on after the connection was lost, from any event, also those that came in the meantime', async () => {
    const { url, model } = await scriptedGateway({}, { pauseMs: 2 });
    const { socket, created, ...place } = await begin(url);
    expect(created).toMatchObject({ resumable: true, epoch: expect.stringMatching(/^[\w-]{12}$/) });
    await socket.event(({ offset }) => offset === 5);
    socket.close();
    await expect.poll(() => model.written[0]?.tokens).toBeGreaterThan(20);
    const { socket: next, resumed, after } = await resume(url, { ...place, offset: 4 });
    expect(resumed).toEqual({
      type: 'generation.resumed',
      response_id: place.response_id,
      request_id: 'again',
      recovered: true,
    });
    await next.event(done);
    expect(offsets(after())).toEqual(from(4, 102));
  });

  it('gives again what has been sent already, as often as it is asked', async () => {
    const { url } = await scriptedGateway();
    const { socket, created: _, ...place } = await begin(url);
    await socket.event(done);
    for (const offset of [90, 0]) {
      const { resumed, after } = await resume(url, { ...place, offset }, socket);
      expect(resumed).toMatchObject({ recovered: true });
      await expect.poll(() => offsets(after())).toEqual(from(offset, 102));
    }
  });

  it('takes the generation over from a connection that still seems to hold it', async () => {
    const { url } = await scriptedGateway({}, { pauseMs: 5 });
    const { socket, created: _, ...place } = await begin(url);
    await socket.event(({ offset }) => offset === 5);
    const { socket: next, after } = await resume(url, { ...place, offset: 3 });
    await next.event(done);
    expect(offsets(after())).toEqual(from(3, 102));
    expect(socket.events.at(-1)).toMatchObject({
      type: 'error',
      response_id: place.response_id,
      error: { code: 'taken_over' },
    });
    expect(socket.events.some(done)).toBe(false);
    socket.send({ type: 'generation.cancel', response_id: place.response_id });
    await socket.event(({ error }) => error?.code === 'unknown_response');
  });

  it.each([
    ['of another epoch', { epoch: 'another' }],
    ['that never was', { response_id: 'resp-nothing' }],
    ['of the other transport', { response_id: 'chatcmpl-nothing' }],
    ['beyond its end', { offset: 1000 }],
  ])('recovers nothing of a generation %s', async (_name, changes) => {
    const { url } = await scriptedGateway();
    const { socket, created: __, ...place } = await begin(url);
    await socket.event(done);
    const { resumed, after } = await resume(url, { ...place, offset: 0, ...changes });
    expect(resumed).toMatchObject({ recovered: false });
    await setTimeout(50);
    expect(after()).toEqual([]);
  });

  it('ends a generation of the same connection that is not recovered', async () => {
    const { url, model, gateway } = await scriptedGateway({}, { pauseMs: 2 });
    const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
    const { resumed } = await resume(url, { ...place, epoch: 'another', offset: 0 }, socket);
    expect(resumed).toMatchObject({ recovered: false });
    expect(model.written[0]?.state).toBe('cancelled');
    expect(gateway.live.size).toBe(0);
  });

  it.each([1000, 1001, undefined, 3000, 4900])(
    'is or is not possible after a close with code %s',
    async (code) => {
      const { url, model } = await scriptedGateway({}, { pauseMs: 2 });
      const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
      await socket.event(({ offset }) => offset === 5);
      socket.close(code);
      const meant = code === 1000 || code === 1001;
      if (meant) await expect.poll(() => model.written[0]?.state).toBe('cancelled');
      expect((await resume(url, { ...place, offset: 2 })).resumed).toMatchObject({ recovered: !meant });
    },
  );

  it('is not possible once the client has asked for the same again, by its request_id', async () => {
    const { url, model, gateway } = await scriptedGateway({}, { pauseMs: 2 });
    const again = { max_tokens: 10_000, request_id: 'unique' };
    const { socket, created: _, ...place } = await begin(url, again);
    const other = await begin(url, { ...again, request_id: 'another' });
    const beside = await begin(url, again);
    expect(model.written.map(({ state }) => state)).toEqual(['writing', 'writing', 'writing']);
    for (const each of [socket, other.socket]) each.close();
    await expect.poll(() => connections(gateway)).toBe(1);
    await begin(url, again);
    expect(model.written.map(({ state }) => state)).toEqual(['cancelled', 'writing', 'writing', 'writing']);
    expect(gateway.live.size).toBe(3);
    beside.socket.close();
    expect((await resume(url, { ...place, offset: 0 })).resumed).toMatchObject({ recovered: false });
  });

  it('leaves the cancelling to whoever reads the generation', async () => {
    const { url } = await scriptedGateway({}, { pauseMs: 2 });
    const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
    const other = await TestSocket.open(url);
    other.send({ type: 'generation.cancel', response_id: place.response_id });
    await other.event(({ error }) => error?.code === 'unknown_response');
    await resume(url, { ...place, offset: 0 }, other);
    other.send({ type: 'generation.cancel', response_id: place.response_id });
    expect(await other.event(done)).toMatchObject({ finish_reason: 'cancelled' });
    expect(offsets(socket.events.filter(done))).toEqual([]);
  });

  it.each([
    [{ offset: -1 }, 'offset'],
    [{ offset: 0.5 }, 'offset'],
    [{ epoch: 7 }, 'epoch'],
    [{ response_id: null }, 'response_id'],
    [{ from: 3 }, 'from'],
  ])('is refused by the name of its field: %j', async (changes, param) => {
    const { url } = await scriptedGateway();
    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.resume', response_id: 'resp-x', epoch: 'x', offset: 0, ...changes });
    expect((await socket.event(ofType('error'))).error).toMatchObject({ param });
  });
});

describe('a connection', () => {
  it('gives signs of life while nothing else is said', async () => {
    const { url } = await scriptedGateway({ bounds: { heartbeatMs: 100 } });
    const socket = await TestSocket.open(url);
    await expect.poll(() => socket.events.filter(ofType('heartbeat')).length).toBeGreaterThan(5);
    expect(socket.closeCode).toBeNull(); // its pongs were heard
  });

  it('is given up when pings have no answer; its generations wait to be resumed', async () => {
    const { url, gateway, model } = await scriptedGateway({ bounds: { heartbeatMs: 100 } }, { pauseMs: 2 });
    const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
    socket.pause();
    await expect.poll(() => connections(gateway)).toBe(0);
    expect(model.written[0]?.state).toBe('writing');
    const { socket: next, after } = await resume(url, { ...place, offset: 0 });
    await next.event(({ offset }) => offset === 50);
    expect(offsets(after()).slice(0, 51)).toEqual(from(0, 51));
    socket.resume();
    await expect.poll(() => socket.closeCode).not.toBeNull();
    expect([4001, 1006]).toContain(socket.closeCode); // its pongs may meet a connection that is gone
  });

  it('that is not read for too long is closed, and then cut; another is not harmed', async () => {
    const { gateway, model, url } = await scriptedGateway(
      { streams: { stall_s: 0.3 }, bounds: { queueBytes: 4096 } },
      { text: () => 'x'.repeat(2000) },
    );
    const unix = `http+unix:${await unixEntrance(gateway)}:`;
    const slow = await begin(unix, { max_tokens: 10_000 });
    const { socket: doomed } = await begin(unix, { max_tokens: 10_000, resumable: false });
    slow.socket.pause();
    doomed.pause();
    await expect.poll(() => model.written[1]?.state).toBe('cancelled');
    const quick = await begin(url, { max_tokens: 200 });
    await quick.socket.event(done);
    expect(model.written[0]).toMatchObject({ state: 'writing' });
    expect(model.written[0]!.tokens).toBeLessThan(5000);
    // What it has not read is still there.
    const offset = (slow.socket.events.at(-1)?.offset ?? -1) + 1;
    const { response_id, epoch } = slow;
    const { resumed, socket, after } = await resume(url, { response_id, epoch, offset });
    expect(resumed).toMatchObject({ recovered: true });
    await socket.event(done);
    expect(offsets(after())).toEqual(from(offset, 10_002));
    // The close frame waits behind what is not read: whether it comes through is a matter of when reading goes on.
    for (const each of [slow.socket, doomed]) {
      each.resume();
      await expect.poll(() => each.closeCode).not.toBeNull();
      expect([4000, 1006]).toContain(each.closeCode);
    }
  });

  it('that sends too many messages, or pings, is closed for good', async () => {
    const { url, model } = await scriptedGateway({ bounds: { messagesPerSecond: 10 } }, { pauseMs: 2 });
    for (const flood of ['send', 'ping', 'pong'] as const) {
      const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
      for (let i = 0; i < 20; i++) socket[flood]('{}');
      await expect.poll(() => socket.closeCode).toBe(4500);
      expect((await resume(url, { ...place, offset: 0 })).resumed).toMatchObject({ recovered: false });
    }
    expect(model.written.map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });

  it.each([
    ['binary', 1003, new Uint8Array(1)],
    ['too large', 1009, 'x'.repeat(2000)],
  ])('that sends a message that is %s is closed for good, with %d', async (_name, code, message) => {
    const { url, model } = await scriptedGateway({ limits: { body_bytes: 1024 } }, { pauseMs: 2 });
    const { socket, created: _, ...place } = await begin(url, { max_tokens: 10_000 });
    socket.send(message);
    await expect.poll(() => socket.closeCode).toBe(code);
    expect(model.written[0]?.state).toBe('cancelled');
    expect((await resume(url, { ...place, offset: 0 })).resumed).toMatchObject({ recovered: false });
  });
});
