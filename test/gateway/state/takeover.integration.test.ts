import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Engine } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { expectClose } from '../../support/close.js';
import { EngineUpstream } from '../../support/engine-upstream.js';
import { type SocketEvent, TestSocket } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { freeze } from '../../support/process.js';
import { hasRedis, useRedis } from '../../support/redis.js';
import { LONG_QUESTION } from '../../support/requests.js';
import { Serving } from '../../support/serving.js';
import { sharedReasoner } from '../../support/shared-engines.js';

const ofType = (type: string) => (event: SocketEvent) => event.type === type;
const ends = ({ type, error }: SocketEvent) => type === 'generation.done' || error !== undefined;
const place = z.object({ response_id: z.string(), epoch: z.string() });
const created = place.extend({ guard: z.looseObject({}) });

const RESUME_S = 60;
/** Scores that all models have, without the passes of an adversary: no answer is over before all are in their midst. */
const guard = { action: 'annotate', rate: 0.3, methods: ['nll', 'margin'] };

/** A long answer of the embedded model, which writes the same after the same text. */
const ask = (model: string, changes: object = {}) => ({
  type: 'generation.create',
  model,
  guard,
  temperature: 0,
  max_tokens: 200,
  resumable: true,
  messages: [{ role: 'user', content: LONG_QUESTION }],
  ...changes,
});

/** What a client has in the end, that applies retractions. */
function answerOf(events: readonly SocketEvent[]) {
  const tokens: SocketEvent[] = [];
  const scores: SocketEvent[] = [];
  for (const event of events) {
    if (event.type === 'token.delta') {
      expect(event.index).toBe(tokens.length);
      tokens.push(event);
    } else if (event.type === 'score.delta') {
      scores[Number(event.index)] = event;
    } else if (event.type === 'token.retracted') {
      expect(Number(event.from) + Number(event.tokens)).toBe(tokens.length);
      tokens.length = Number(event.from);
      scores.length = Math.min(scores.length, tokens.length);
    }
  }
  const done = events.find(ofType('generation.done'));
  return {
    tokens: tokens.map(({ index, id, text, logprob, inserted }) => ({ index, id, text, logprob, inserted })),
    scores: scores.map((event) => event.scores),
    // How long a step was held differs, and whether it has the white space before it.
    steps: events
      .filter(ofType('step.done'))
      .map((step) => ({ ...bare(step), held: 0, text: String(step.text).trim() })),
    done: done && { reason: done.finish_reason, verdict: done.verdict },
  };
}

const lastOf = ({ events }: TestSocket) => events.findLast(({ type }) => type !== 'heartbeat');

const bare = ({ offset: _, response_id: __, ...fields }: SocketEvent) => fields;

describe.skipIf(!hasRedis)('a generation whose gateway is gone (skipped without Redis)', () => {
  const redis = useRedis();
  const folder = useFolder();
  const running: { engine?: Engine; upstream?: EngineUpstream; gateways: Serving[] } = { gateways: [] };
  const replaced: Promise<void>[] = [];

  beforeAll(async () => {
    running.engine = await sharedReasoner();
    running.upstream = await EngineUpstream.start(running.engine, {
      tokenIds: true,
      logprobs: true,
      continues: true,
      completions: true,
    });
    const checkpoint = await calibratedReasoner(folder.path('reasoner'), 0.00015);
    const upstreams = [{ url: running.upstream.url }];
    const models = { own: { checkpoint }, scored: { upstreams, scorer: checkpoint }, told: { upstreams } };
    const state = { url: redis.server.url };
    const streams = { resume_s: RESUME_S };
    folder.write('flinch.json', JSON.stringify({ models, state, streams, shutdown: { drain_s: 0 } }));
    running.gateways = await Promise.all([serve(), serve(), serve()]);
  });
  afterEach(async () => {
    await Promise.all(replaced.splice(0));
  });
  afterAll(async () => {
    for (const each of running.gateways) each.kill();
    await running.upstream?.close();
  });

  async function serve(): Promise<Serving> {
    const serving = await Serving.start(['--config', folder.path('flinch.json')]);
    const ready = async () => expect((await fetch(`${serving.url}/readyz`)).status).toBe(200);
    await vi.waitFor(ready, 60_000);
    return serving;
  }

  const own = (events: readonly SocketEvent[]) => events.filter(({ offset }) => offset !== undefined);
  const at = (i: number): Serving => running.gateways[i]!;
  const redisSays = (...command: readonly string[]): string => redis.server.command(...command);

  /** As if ten seconds had gone by since the gateway of a generation died. */
  function endLease(id: string): void {
    const owner = redisSays('HGET', `flinch:generation:${id}`, 'gateway');
    redisSays('UNLINK', `flinch:gateway:${owner}`);
  }

  /** A gateway dies. Another is begun in its place, which the next test has. */
  function kill(i: number, signal?: NodeJS.Signals): void {
    const { gateways } = running;
    gateways[i]!.kill(signal);
    replaced.push(serve().then((serving) => void gateways.splice(i, 1, serving)));
  }

  async function begin(serving: Serving, message: object, events: number) {
    const socket = await TestSocket.open(serving.url);
    socket.send(message);
    const first = await socket.event(({ type }) => type === 'generation.created' || type === 'error');
    const { response_id, epoch } = created.parse(first);
    await socket.event(({ offset }) => offset === events);
    return { socket, place: { response_id, epoch } };
  }

  /** What a client has that has lost the last events. It may have more than its gateway has written to Redis. */
  const heardOf = (socket: TestSocket): readonly SocketEvent[] => own(socket.events).slice(0, 5);

  async function resume(serving: Serving, at: object, offset: number): Promise<TestSocket> {
    const socket = await TestSocket.open(serving.url);
    socket.send({ type: 'generation.resume', ...at, offset });
    expect(await socket.event(ofType('generation.resumed'))).toMatchObject({ recovered: true });
    return socket;
  }

  /** Each once and in order. */
  function expectWhole(events: readonly SocketEvent[]): void {
    expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
    expect(events.at(-1)?.error).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
  }

  async function undisturbed(message: object): Promise<readonly SocketEvent[]> {
    const { socket } = await begin(at(1), message, 1);
    await socket.event(ends);
    socket.close();
    return own(socket.events);
  }

  const takeovers = async (serving: Serving, outcome: string): Promise<number> => {
    const { text } = await serving.get('/metrics');
    return Number(text.split(`flinch_takeovers_total{outcome="${outcome}"} `)[1]?.split('\n')[0]);
  };

  // Each kind for itself: on a slow machine, a quick one is over before a slow one has begun.
  it.each([
    ['by a model of its own', ask('own')],
    ['held back', ask('own', { guard: { ...guard, delivery: 'held' } })],
    ['without a guard', ask('own', { guard: { enabled: false } })],
    // With `skip`, a slow machine would pass over some tokens.
    ['by a server with a scorer', ask('scored', { guard: { ...guard, lag: 'wait' } })],
    // Shorter than what its gateway needs to judge by earlier steps, of which each gateway knows others.
    ['by a server alone', ask('told', { max_tokens: 100 })],
  ])('goes on elsewhere as it would have: %s', async (_how, message) => {
    await expectTakenOver(message, 1);
  });

  it('goes on elsewhere beside others of the same gateway', async () => {
    await expectTakenOver(ask('own', { max_tokens: 280 }), 3);
  });

  /** Begins as many generations at once, ends their gateway, and compares each with one that nothing disturbs. */
  async function expectTakenOver(message: object, count: number): Promise<void> {
    const already = await takeovers(at(1), 'continued');
    const begun = await Promise.all(Array.from({ length: count }, () => begin(at(0), message, 20)));
    kill(0);
    await expect.poll(() => begun.every(({ socket }) => socket.closeCode !== null)).toBe(true);
    endLease(begun[0]!.place.response_id);
    const answers = await Promise.all(
      begun.map(async ({ socket, place }) => {
        const before = heardOf(socket);
        const next = await resume(at(1), place, before.length);
        await next.event(ends);
        next.close();
        return [...before, ...own(next.events)];
      }),
    );
    expect(await takeovers(at(1), 'continued')).toBe(already + count);
    const expected = answerOf(await undisturbed(message));
    for (const answer of answers) {
      expectWhole(answer);
      expectClose(answerOf(answer), expected, 'answer');
    }
  }

  it('goes on at one of two gateways that both see its gateway gone', async () => {
    const counted = async () => (await takeovers(at(1), 'continued')) + (await takeovers(at(2), 'continued'));
    const already = await counted();
    const { socket, place } = await begin(at(0), ask('own'), 30);
    kill(0);
    await expect.poll(() => socket.closeCode).not.toBe(null);
    const before = heardOf(socket);
    const both = await Promise.all([1, 2].map((i) => resume(at(i), place, before.length)));
    await Promise.all(both.map((each) => each.event(ends)));
    // One that comes while the other reads takes it from there; one that comes later hears the end, too.
    const heard = both.map((each) => ({ each, last: lastOf(each) }));
    const whole = heard.filter(({ last }) => last?.type === 'generation.done');
    expect(whole.length).toBeGreaterThan(0);
    for (const { each } of whole) expectWhole([...before, ...own(each.events)]);
    for (const { each, last } of heard) {
      if (last?.type === 'generation.done') continue;
      expect(last).toMatchObject({ type: 'error', error: { code: 'taken_over' } });
      expect(own(each.events).map(({ offset }) => offset)).toEqual(
        own(each.events).map((_, i) => before.length + i),
      );
    }
    expect(await counted()).toBe(already + 1);
    expect(redisSays('HGET', `flinch:generation:${place.response_id}`, 'fence')).toBe('2');
    for (const each of both) each.close();
  });

  it('is written no more by a gateway that was only stopped', async () => {
    const already = await takeovers(at(1), 'continued');
    const { socket, place } = await begin(at(0), ask('own', { max_tokens: 280 }), 20);
    freeze(at(0).pid);
    const before = heardOf(socket).length;
    const next = await resume(at(1), place, before);
    // The lease of the gateway runs out.
    await expect.poll(() => takeovers(at(1), 'continued')).toBe(already + 1);
    freeze(at(0).pid, 'SIGCONT');
    // It gives the generation to who asks it for it, as it was written elsewhere.
    const written: SocketEvent[] = [];
    let back: TestSocket;
    do {
      // A client that loses it asks again.
      back = await resume(at(0), place, before + written.length);
      await back.event(ends);
      back.close();
      const errors = back.events.filter(ofType('error')).map(({ error }) => error);
      for (const error of errors) expect(error).toMatchObject({ code: 'taken_over' });
      written.push(...own(back.events));
    } while (back.events.some(ofType('error')) && written.length < 2000);
    expect(await next.event(ends)).toBeDefined();
    expect(written.map(({ offset }) => offset)).toEqual(written.map((_, i) => before + i));
    expect(written.at(-1)).toMatchObject({ type: 'generation.done' });
    const elsewhere = own(next.events);
    expect(written.slice(0, elsewhere.length)).toEqual(elsewhere);
    expect(lastOf(socket)).toMatchObject({ type: 'error', error: { code: 'taken_over' } });
    for (const each of [socket, next]) each.close();
  });

  it('goes on elsewhere if it is not done when its gateway has drained', async () => {
    const message = ask('own');
    const { socket, place } = await begin(at(0), message, 30);
    kill(0, 'SIGTERM');
    await expect.poll(() => socket.closeCode).toBe(1001);
    const before = own(socket.events);
    expect(before.filter(ends)).toEqual([]);
    const next = await resume(at(1), place, before.length);
    await next.event(ends);
    const events = [...before, ...own(next.events)];
    expectWhole(events);
    expectClose(answerOf(events), answerOf(await undisturbed(message)));
    next.close();
  });

  it('ends where nothing can go on, and is forgotten in time', async () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
    const more = await begin(at(0), ask('own'), 20);
    const { socket, place } = await begin(at(0), ask('told', { tools, guard: {} }), 20);
    kill(0);
    await expect.poll(() => socket.closeCode).not.toBe(null);
    endLease(place.response_id);
    const next = await resume(at(1), place, heardOf(socket).length);
    expect(await next.event(ends)).toMatchObject({ error: { code: 'owner_lost' } });
    // Its client has more than was written.
    const behind = await resume(at(1), more.place, 2000);
    expect(await behind.event(ends)).toMatchObject({ error: { code: 'owner_lost' } });
    behind.close();
    expect(await takeovers(at(1), 'ended')).toBeGreaterThan(1);
    next.close();
    const leftMs = Number(redisSays('PTTL', `flinch:generation:${place.response_id}`));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(1000 * (RESUME_S + 10));
  });
});
