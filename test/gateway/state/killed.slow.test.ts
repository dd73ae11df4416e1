import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Gateway, Models, startGateway } from '#gateway/index.js';
import { useFolder } from '../../support/cli.js';
import { read } from '../../support/cut-streams.js';
import { chatBody, ofType, type SocketEvent, TestSocket } from '../../support/gateway.js';
import { freeze } from '../../support/process.js';
import { hasRedis, useRedis } from '../../support/redis.js';
import { ScriptedModel } from '../../support/scripted-model.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { Serving } from '../../support/serving.js';
import { vllmDouble } from '../../support/upstream-doubles.js';

/** By hand: STATE_RUNS=10 kills 20 times, 50 streams each. */
const RUNS = Number(process.env.STATE_RUNS ?? 1);
const KILLS = 2 * RUNS;
const STREAMS = 5 * RUNS;
/** More than any test waits for. */
const WORDS = Array.from({ length: 5000 }, (_, i) => ` ${i}`);

/** A slow machine takes minutes to read 50 streams twice: nothing may expire before. */
const streams = { resume_s: 60 * RUNS };

describe.skipIf(!hasRedis)('a gateway that is killed under its streams (skipped without Redis)', () => {
  const redis = useRedis();
  const folder = useFolder();
  const running: { upstream?: ScriptedUpstream; other?: Gateway; serving?: Serving } = {};

  beforeAll(async () => {
    const pace = () => setTimeout(15);
    running.upstream = await startScriptedUpstream(vllmDouble({ answer: WORDS, pace }));
    running.other = await startGateway({
      models: new Models([new ScriptedModel()]),
      config: { listen: { port: 0 }, streams, state: { url: redis.server.url } },
    });
    await serve();
  });
  afterAll(async () => {
    running.serving?.kill();
    await running.other?.close();
    await running.upstream?.close();
  });

  async function serve(): Promise<void> {
    const upstreams = [{ url: running.upstream!.url }];
    const models = { reasoner: { upstreams, max_streams: STREAMS } };
    const access = { generations: STREAMS };
    const config = { models, streams, access, state: { url: redis.server.url }, shutdown: { drain_s: 0 } };
    const file = folder.write('flinch.json', JSON.stringify(config));
    running.serving = await Serving.start(['--config', file]);
    const { url } = running.serving;
    await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 120_000);
  }

  async function begin() {
    const socket = await TestSocket.open(running.serving!.url);
    socket.send({ type: 'generation.create', ...chatBody({ resumable: true }) });
    const { response_id, epoch } = await socket.event(ofType('generation.created'));
    await socket.event(({ offset }) => offset === 10);
    return { socket, place: { response_id, epoch } };
  }

  /** As a client does, again while Redis is away: under this load it may take more than a second to answer. */
  async function resume(place: object): Promise<TestSocket> {
    for (;;) {
      const next = await TestSocket.open(running.other!.url);
      next.send({ type: 'generation.resume', ...place });
      const { recovered, error } = await next.event(({ type }) =>
        /^(error|generation.resumed)$/.test(String(type)),
      );
      if (error === undefined) {
        expect(recovered).toBe(true);
        return next;
      }
      expect(error).toMatchObject({ code: 'state_unavailable' });
      next.close();
      await setTimeout(500);
    }
  }

  /** What a client has of it at the end, which it hears at the other gateway. */
  async function finish({ socket, place }: Awaited<ReturnType<typeof begin>>): Promise<SocketEvent[]> {
    const offset = socket.events.filter((event) => event.offset !== undefined).length;
    const next = await resume({ ...place, offset });
    await next.event(ofType('error'));
    next.close();
    return [...socket.events, ...next.events.filter(({ type }) => type !== 'generation.resumed')];
  }

  function expectLost(events: readonly SocketEvent[]): void {
    const own = events.filter(({ offset }) => offset !== undefined);
    expect(own.map(({ offset }) => offset)).toEqual(own.map((_, i) => i));
    const text = own.filter(ofType('token.delta')).map((event) => event.text);
    expect(text).toEqual(WORDS.slice(0, text.length));
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'owner_lost' } });
    expect(events.filter(ofType('error'))).toHaveLength(1);
  }

  it(`gives each client what was written, and a clear end, ${KILLS} times`, {
    timeout: 60_000 * KILLS,
  }, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const begun = await Promise.all(Array.from({ length: STREAMS }, begin));
      running.serving!.kill();
      await expect.poll(() => begun.every(({ socket }) => socket.closeCode !== null)).toBe(true);
      for (const events of await Promise.all(begun.map(finish))) expectLost(events);
      // Nor is there more of it later.
      for (const events of await Promise.all(begun.slice(0, 2).map(finish))) expectLost(events);
      await serve();
    }
  });

  it('gives a client of Server-Sent Events the same', async () => {
    const events: { id?: string | undefined; data: string }[] = [];
    const body = { ...chatBody({ resumable: true }), stream: true };
    const heard = (event: (typeof events)[number]): void => {
      if (event.data !== '[DONE]' && events.push(event) === 10) running.serving!.kill();
    };
    await read(running.serving!.url, body, undefined, heard);
    // The other gateway learns that the first is gone once its lease has run out; until then, nothing comes.
    while (events.at(-1)!.id !== undefined)
      await read(running.other!.url, body, events.at(-1)!.id, (event) => events.push(event));
    await serve();
    const error = JSON.parse(events.pop()!.data);
    expect(error).toMatchObject({ error: { code: 'owner_lost' } });
    expect(events.map(({ id }) => Number(id?.split('/')[2]))).toEqual(events.map((_, i) => i));
    const text = events.map(({ data }) => JSON.parse(data).choices[0]?.delta.content ?? '').join('');
    expect(WORDS.join('').startsWith(text)).toBe(true);
  });

  it('gives a client that has more than was written the end, and forgets it in time', async () => {
    const { socket, place } = await begin();
    running.serving!.kill();
    await expect.poll(() => socket.closeCode).not.toBe(null);
    const next = await resume({ ...place, offset: 3000 });
    expect(await next.event(ofType('error'))).toMatchObject({ error: { code: 'owner_lost' } });
    next.close();
    const leftMs = Number(redis.server.command('PTTL', `flinch:generation:${place.response_id}`));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(1000 * (streams.resume_s + 10));
    await serve();
  });

  it('that drains ends what is not done, also for those who read it elsewhere', async () => {
    const { socket, place } = await begin();
    const { place: lost, socket: left } = await begin();
    left.close();
    running.serving!.kill('SIGTERM');
    expect(await socket.event(ofType('error'))).toMatchObject({ error: { code: 'shutting_down' } });
    await expect.poll(() => socket.closeCode).toBe(1001);
    for (const each of [place, lost]) {
      const next = await resume({ ...each, offset: 0 });
      expect(await next.event(ofType('error'))).toMatchObject({ error: { code: 'shutting_down' } });
      next.close();
    }
    await serve();
  });

  it('writes nothing more if it was only stopped, once another has ended its generations', async () => {
    const begun = await begin();
    const { pid } = running.serving!;
    freeze(pid);
    const events = await finish(begun);
    expectLost(events);
    const key = `flinch:generation:${begun.place.response_id}:events`;
    const written = () => redis.server.command('XREVRANGE', key, '+', '-', 'COUNT', '1');
    const last = written();
    expect(last).toContain('owner_lost');
    freeze(pid, 'SIGCONT');
    const { socket } = begun;
    expect(await socket.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    const health = async () => (await fetch(`${running.serving!.url}/healthz`)).json();
    await expect.poll(async () => (await health()).models[0].streams).toBe(0);
    expect(written()).toBe(last);
    socket.close();
  });
});
