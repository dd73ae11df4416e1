import { describe, expect, it } from 'vitest';
import { chatBody, ofType, type SocketEvent, TestSocket, useGateway } from '../../support/gateway.js';
import { LONG_QUESTION } from '../../support/requests.js';

const gateway = useGateway(undefined, {
  maxStreams: 128,
  settings: {
    access: { generations: 128 },
    streams: { stall_s: 600 },
    bounds: { generations: 32, queueBytes: 4096, heartbeatMs: 20_000 },
  },
});

const QUESTIONS = 8;
/** Each has another answer. */
const ask = (stream: number, changes: object = {}) => ({
  type: 'generation.create',
  request_id: `${stream}`,
  ...chatBody({
    messages: [
      { role: 'user', content: `Maya has ${11 + (stream % QUESTIONS)} stones. Then Maya sells 3. How many?` },
    ],
    max_tokens: 16,
    ...changes,
  }),
});

const done = ofType('generation.done');
const textOf = (events: readonly SocketEvent[]) =>
  events
    .filter(ofType('token.delta'))
    .map(({ text }) => text)
    .join('');

/** What a connection heard, by the names of the requests; every event is of one of them, in its place. */
function byRequest({ events }: TestSocket): Map<string, SocketEvent[]> {
  const responses = new Map<unknown, SocketEvent[]>();
  for (const event of events.filter(({ type }) => type !== 'heartbeat')) {
    responses.set(event.response_id, [...(responses.get(event.response_id) ?? []), event]);
  }
  return new Map(
    [...responses.values()].map((own) => {
      expect(own.map(({ offset }) => offset)).toEqual(own.map((_, i) => i));
      return [own[0]?.request_id ?? '', own];
    }),
  );
}

describe('100 streams at once', () => {
  it('are written as if each were alone, and one that is not read harms no other', async () => {
    const alone: string[] = [];
    const single = await TestSocket.open(gateway.url);
    for (let i = 0; i < QUESTIONS; i++) {
      single.send(ask(i));
      await expect.poll(() => single.events.filter(done).length).toBe(i + 1);
    }
    for (const own of byRequest(single).values()) alone.push(textOf(own));
    expect(new Set(alone).size).toBeGreaterThan(QUESTIONS / 2);
    single.close();

    const unread = await TestSocket.open(`http+unix:${await gateway.unixPath()}:`);
    // More than the socket's buffers take.
    const messages = [{ role: 'user', content: LONG_QUESTION }];
    const much = { messages, top_logprobs: 20, max_tokens: 250, guard: { methods: ['nll'] } };
    for (let stream = 96; stream < 100; stream++) unread.send(ask(stream, much));
    await expect.poll(() => unread.events.filter(ofType('token.delta')).length).toBeGreaterThan(0);
    unread.pause();

    const sockets = await Promise.all([0, 1, 2, 3, 4, 5].map(() => TestSocket.open(gateway.url)));
    for (let stream = 0; stream < 96; stream++) sockets[stream % 6]?.send(ask(stream));
    await expect.poll(() => gateway.engine.status().streams).toBe(100);
    for (const [i, socket] of sockets.entries()) {
      await expect.poll(() => socket.events.filter(done).length).toBe(16);
      const responses = byRequest(socket);
      expect(responses.size).toBe(16);
      for (const [name, events] of responses) {
        expect(Number(name) % 6).toBe(i);
        expect(textOf(events)).toBe(alone[Number(name) % QUESTIONS]);
        expect(events.filter(({ type, pending }) => type === 'score.delta' && !pending)).toHaveLength(
          events.filter(ofType('token.delta')).length,
        );
        expect(events.at(-1)?.type).toBe('generation.done');
      }
      socket.close();
    }
    await expect.poll(() => gateway.engine.status().streams).toBe(4); // waiting for their reader
    expect(unread.events.filter(done)).toHaveLength(0);

    unread.resume();
    await expect.poll(() => unread.events.filter(done).length).toBe(4);
    const [first, ...others] = byRequest(unread).values();
    for (const other of others) expect(textOf(other)).toBe(textOf(first ?? []));
    unread.close();
  });
});
