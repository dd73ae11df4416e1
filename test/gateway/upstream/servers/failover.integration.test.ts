import { setTimeout } from 'node:timers/promises';
import { lastValueFrom, tap, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { createSchema, parse } from '#gateway/requests/generation-request.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { FlowGate } from '#src/index.js';
import { answerOf } from '../../../support/answers.js';
import { TestSocket } from '../../../support/gateway.js';
import { type Script, type ScriptedUpstream, scriptedUpstream } from '../../../support/scripted-upstream.js';
import {
  ANSWER,
  answering,
  chunk,
  isProbe,
  llamaCppDouble,
  ollamaDouble,
  stopChunk,
} from '../../../support/upstream-doubles.js';
import { body, streamed, upstreamGateway } from '../../../support/upstream-gateway.js';
import { upstreamConfig } from '../../../support/upstream-server.js';

const TEXT = ANSWER.join('');
const good = answering(ollamaDouble());

/** Servers that run one model, in this order; nothing is asked of them yet beside the probe. */
async function models(scripts: readonly Script[], changes: object = {}, options: object = {}) {
  const upstreams: ScriptedUpstream[] = [];
  for (const script of scripts) upstreams.push(await scriptedUpstream(script));
  const gateway = await upstreamGateway(
    upstreams.map(({ url }) => url),
    changes,
    options,
  );
  const generations = (i: number): number =>
    upstreams[i]!.requests.filter((request) => !isProbe(request) && !request.path.endsWith('/models')).length;
  return { ...gateway, gateway, upstreams, generations };
}

const failing = (fail: Script): Script => answering(fail);

describe('before the first byte', () => {
  const faults: [string, Script][] = [
    ['a cut', (_, reply) => reply.cut()],
    ['429', (_, reply) => reply.json(429, {})],
    ['503', (_, reply) => reply.json(503, {})],
    ['500', (_, reply) => reply.json(500, {})],
    ['401', (_, reply) => reply.json(401, {})],
    ['404', (_, reply) => reply.json(404, {})],
    ['a redirect', (_, reply) => reply.head(302, { location: '/' }).end()],
    ['a page', (_, reply) => reply.head(200, { 'content-type': 'text/html' }).write('x').end()],
    ['silence after 200', (_, reply) => void reply.head()],
    ['a black hole', () => {}],
  ];

  it.each(faults)('the next server answers: %s', async (name, fault) => {
    const { url, generations } = await models([failing(fault), good], {
      retries: 0,
      // Long enough for the probe of a server that is only slow.
      timeouts: { first_byte_s: 0.5 },
    });
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true, error: null });
    // A connection that was used before is replaced where it is cut.
    expect([generations(0), generations(1)]).toEqual([name === 'a cut' ? 2 : 1, 1]);
  });

  it('the next server answers where one is not there at all', async () => {
    const gone = await scriptedUpstream(() => {});
    await gone.close();
    const upstream = await scriptedUpstream(good);
    const { url, status } = await upstreamGateway([gone.url, upstream.url], { retries: 0 });
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    await expect.poll(status).toMatchObject({
      ready: true,
      upstreams: [
        { reachable: false, capabilities: null, error: 'upstream_unreachable' },
        { reachable: true, capabilities: { logprobs: 2, tokenIds: 'none', resume: 'none' }, error: null },
      ],
    });
  });

  it('a server is tried again after a wait, which doubles', async () => {
    // The first is the connection of the probe, which is replaced at once.
    let left = 3;
    const script = answering((request, reply) => (left-- > 0 ? reply.cut() : ollamaDouble()(request, reply)));
    const { url, waits, generations } = await models([script], { retries: 2 });
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    expect(generations(0)).toBe(4);
    expect(waits).toEqual([100, 200]);
  });

  it.each([
    ['1', 1000],
    ['99999999999', 2000],
    ['-1', 100],
    ['0', 100],
  ])('Retry-After: %s is honoured within bounds', async (asked, waited) => {
    let left = 1;
    const script = answering((request, reply) =>
      left-- > 0 ? reply.json(429, {}, { 'retry-after': asked }) : ollamaDouble()(request, reply),
    );
    const { url, waits } = await models([script], { retries: 1 });
    expect(await streamed(url)).toMatchObject({ done: true });
    expect(waits).toEqual([waited]);
  });

  it.each([400, 413, 422])('what a server refuses with %i no other is asked', async (status) => {
    const { url, generations } = await models([failing((_, reply) => reply.json(status, {})), good], {
      retries: 3,
    });
    expect(await streamed(url)).toMatchObject({ status: 400, error: { code: 'upstream_refused' } });
    expect([generations(0), generations(1)]).toEqual([1, 0]);
  });

  it('the last fault is told where all fail', async () => {
    const scripts = [failing((_, reply) => reply.cut()), failing((_, reply) => reply.json(429, {}))];
    const { url } = await models(scripts, { retries: 0 });
    expect(await streamed(url)).toMatchObject({ status: 503, error: { code: 'upstream_overloaded' } });
  });

  it('a server that failed lately is tried last, until some time has passed', async () => {
    let now = 0;
    let broken = true;
    const first = failing((request, reply) =>
      broken ? reply.json(503, {}) : ollamaDouble()(request, reply),
    );
    const { url, generations } = await models([first, good], { retries: 0 }, { now: () => now });
    await streamed(url);
    broken = false;
    await streamed(url);
    expect([generations(0), generations(1)]).toEqual([1, 2]);
    now = 31_000;
    await streamed(url);
    expect([generations(0), generations(1)]).toEqual([2, 2]);
  });

  it('a server that does not answer is not tried twice, and by one request at a time', async () => {
    let now = 0;
    let dead = false;
    const hole = answering((request, reply) => (dead ? undefined : ollamaDouble()(request, reply)));
    const options = { now: () => now };
    const { url, generations, status } = await models(
      [hole, good],
      { retries: 3, timeouts: { first_byte_s: 2 } },
      options,
    );
    // What it can do it still says.
    const there = () =>
      expect.poll(status).toMatchObject({ upstreams: [{ reachable: true }, { reachable: true }] });
    await streamed(url);
    dead = true;
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    expect([generations(0), generations(1)]).toEqual([2, 1]);
    const many = () => Promise.all(Array.from({ length: 6 }, () => streamed(url)));
    await many();
    expect([generations(0), generations(1)]).toEqual([2, 7]);
    now = 31_000;
    await there();
    await many();
    expect([generations(0), generations(1)]).toEqual([3, 13]);
    now += 31_000;
    await there();
    dead = false;
    await streamed(url);
    await many();
    expect(generations(0)).toBe(10);
  });

  it('a server that does not say what it can do keeps nobody waiting for another', async () => {
    const { url, generations } = await models([() => {}, good], { timeouts: { first_byte_s: 60 } });
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    expect(generations(1)).toBe(1);
  });

  /** Tells no log-probabilities. */
  const plain: Script = ({ path }, reply) => {
    if (path !== '/v1/chat/completions') return reply.json(404, {});
    reply.head().last(chunk('Plain', null), stopChunk);
  };

  it.each([
    ['first', 0],
    ['last', 1],
  ])('what the most able server can do is what a request may ask for: it stands %s', async (_, at) => {
    const scripts = [plain];
    scripts.splice(at, 0, good);
    const { url, log } = await models(scripts, { retries: 0 });
    expect(await streamed(url, { logprobs: true, top_logprobs: 2 })).toMatchObject({ text: TEXT });
    expect((await streamed(url)).chunks[0]?.flinch?.guard).toMatchObject({ enabled: true });
    const off = { guard: { enabled: false } };
    expect(await streamed(url, off)).toMatchObject({ text: at === 0 ? TEXT : 'Plain', done: true });
    expect(log.join('')).not.toContain('upstream failed');
  });

  it('of servers that are not there, or failed lately, nothing is promised', async () => {
    const { url, upstreams } = await models([plain, good], { retries: 0 });
    await streamed(url);
    await upstreams[1]!.close();
    await streamed(url);
    const answer = await streamed(url);
    expect(answer).toMatchObject({ text: 'Plain', done: true });
    expect(answer.chunks[0]?.flinch?.guard).toMatchObject({ enabled: false });
  });

  it('a server that is another now, and refuses what it took, is asked anew what it can do', async () => {
    let changed = false;
    const llama = llamaCppDouble();
    const script: Script = (request, reply) =>
      changed && ('stream_options' in request.body || 'top_logprobs' in request.body)
        ? reply.json(400, { error: { message: 'top_logprobs?' } })
        : llama(request, reply);
    let now = 0;
    const { url, status } = await models([script], { retries: 0 }, { now: () => now });
    const request = { guard: { enabled: false }, logprobs: false };
    await streamed(url, request);
    changed = true;
    now = 60_000;
    expect(await streamed(url, request)).toMatchObject({ status: 400, error: { code: 'upstream_refused' } });
    await expect.poll(status).toMatchObject({ upstreams: [{ capabilities: { logprobs: null } }] });
    expect(await streamed(url, request)).toMatchObject({ text: TEXT, done: true });
    expect((await streamed(url)).chunks[0]?.flinch?.guard).toMatchObject({ enabled: false });
  });

  it('a client that is refused is a reason to ask anew once a minute', async () => {
    let now = 0;
    const script = failing((_, reply) => reply.json(400, { error: { message: 'temperature?' } }));
    const { url, upstreams, status } = await models([script], {}, { now: () => now });
    const probes = () => upstreams[0]!.requests.filter(isProbe).length;
    const refused = async () =>
      expect(await streamed(url)).toMatchObject({ status: 400, error: { code: 'upstream_refused' } });
    await refused();
    const first = probes();
    now = 59_000;
    await refused();
    await refused();
    expect(probes()).toBe(first);
    now = 61_000;
    await refused();
    expect(probes()).toBe(first);
    await refused();
    await expect.poll(probes).toBe(2 * first);
    await refused();
    await refused();
    expect(probes()).toBe(2 * first);
    // It is no fault of the server.
    expect(status()).toMatchObject({ ready: true, upstreams: [{ reachable: true, error: null }] });
  });

  it('a server that cannot do what the guard needs is passed over', async () => {
    const untold = answering((_, reply) => reply.head().data(chunk('no', null)).end());
    const mute: Script = (request, reply) =>
      isProbe(request)
        ? reply.head().last(chunk('no', null), { choices: [{ finish_reason: 'stop' }] })
        : untold(request, reply);
    const { url, log, upstreams, generations, status } = await models([good, mute, good], { retries: 0 });
    await expect.poll(() => JSON.stringify(status()).match(/"reachable":true/g)?.length).toBe(3);
    await upstreams[0]!.close();
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    expect([generations(1), generations(2)]).toEqual([0, 1]);
    // It is at no fault.
    expect(log.filter((line) => line.includes('upstream failed') && line.includes('"upstream":1'))).toEqual(
      [],
    );
  });
});

describe('after the first byte', () => {
  it.each<[string, Script]>([
    ['a cut', (_, reply) => void setImmediate(() => reply.head().data(chunk('One')).write('data: ').cut())],
    ['an error object', (_, reply) => reply.head().data(chunk('One')).data({ error: {} }).end()],
    ['silence', (_, reply) => void reply.head().data(chunk('One'))],
  ])('no other server is asked: %s', async (_, fault) => {
    const { url, generations } = await models([failing(fault), good], {
      retries: 3,
      timeouts: { idle_s: 0.5 },
    });
    const answer = await streamed(url);
    expect(answer).toMatchObject({ status: 200, done: false });
    expect(answer.error).not.toBeNull();
    expect([generations(0), generations(1)]).toEqual([1, 0]);
  });

  it('the server is still there for others: a stall', async () => {
    const { url, status } = await models([failing((_, reply) => void reply.head().data(chunk('One')))], {
      timeouts: { idle_s: 0.2 },
    });
    expect(await streamed(url)).toMatchObject({ error: { code: 'upstream_timeout' } });
    expect(status()).toMatchObject({
      ready: true,
      upstreams: [{ reachable: true, error: 'upstream_timeout' }],
    });
  });

  it('a comment is a byte: no other server is asked', async () => {
    const fault: Script = (_, reply) => void reply.head().write(': wait\n\n').data({ error: {} }).end();
    const { url, generations } = await models([failing(fault), good]);
    expect(await streamed(url)).toMatchObject({ done: false });
    expect(generations(1)).toBe(0);
  });
});

describe('cancellation reaches the server', () => {
  /** A server that writes one token and no more. */
  async function waiting(write: boolean) {
    let asked = (): void => {};
    let closed = (): void => {};
    const whenAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const whenClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const script = answering((_, reply) => {
      if (write) reply.head().data(chunk('One'));
      asked();
      reply.closed.then(closed);
    });
    const running = await models([script]);
    return { ...running, asked: whenAsked, closed: whenClosed };
  }

  it('when an SSE client goes away before the first byte', async () => {
    const { url, asked, closed, status } = await waiting(false);
    const abort = new AbortController();
    const request = fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body()),
      signal: abort.signal,
    });
    request.catch(() => {});
    await asked;
    await setTimeout(20);
    abort.abort();
    await closed;
    await expect.poll(status).toMatchObject({ streams: 0, upstreams: [{ reachable: true, error: null }] });
  });

  it.each([true, false])('when a generation is cancelled over WebSocket (begun: %s)', async (write) => {
    const { url, asked, closed, status } = await waiting(write);
    const socket = await TestSocket.open(url);
    const { stream: _, ...create } = body();
    socket.send({ type: 'generation.create', ...create });
    const created = await socket.event(({ type }) => type === 'generation.created');
    await asked;
    if (write) await socket.event(({ type }) => type === 'token.delta');
    socket.send({ type: 'generation.cancel', response_id: created.response_id });
    await closed;
    await expect.poll(status).toMatchObject({ streams: 0, upstreams: [{ reachable: true, error: null }] });
    socket.close();
  });

  it('and a generation that is over leaves its connection to the next', async () => {
    // The end of the body comes a little after [DONE].
    const late = answering((_, reply) => {
      reply.head().data(chunk('One')).data(stopChunk).data('[DONE]');
      setTimeout(20).then(() => reply.end());
    });
    const { url, upstreams } = await models([late]);
    for (let i = 0; i < 5; i++) {
      expect(await streamed(url)).toMatchObject({ text: 'One', done: true });
      await setTimeout(60);
    }
    // A second one may be made while the end of the last answer is still to come.
    expect(upstreams[0]!.accepted).toBeLessThan(3);
  });
});

describe('a client that does not read', () => {
  it('is no fault of the server, however long it takes; the server waits, too', async () => {
    const tokens = Array.from({ length: 2000 }, (_, i) => ` ${i}${'.'.repeat(100)}`);
    const upstream = await scriptedUpstream(ollamaDouble({ answer: tokens }));
    const model = openUpstreamModel('m', upstreamConfig([upstream.url], { timeouts: { idle_s: 0.2 } }));
    const { stream: _, ...request } = body();
    const fields = parse(createSchema, { type: 'generation.create', ...request });
    const answer = await answerOf(model, fields);
    const gate = new FlowGate();
    const release = gate.hold();
    let received = 0;
    const events = lastValueFrom(
      answer.start(gate).pipe(
        tap(() => {
          received += 1;
        }),
        toArray(),
      ),
    );
    await setTimeout(500);
    expect(received).toBe(0);
    release();
    const texts = (await events).flatMap((event) => (event.type === 'token.delta' ? [event.text] : []));
    expect(texts).toEqual(tokens);
    await model.close();
  });
});

describe('bounds', () => {
  it('a server that did not answer is there again once it says what it can do, though nobody asks else', async () => {
    let now = 0;
    let dead = false;
    const llama = llamaCppDouble();
    const { url, status, upstreams } = await models(
      [(request, reply) => (dead ? reply.cut() : llama(request, reply))],
      { retries: 0 },
      { now: () => now },
    );
    await streamed(url);
    dead = true;
    expect(await streamed(url)).toMatchObject({ error: { code: 'upstream_unreachable' } });
    expect(status()).toMatchObject({ ready: false });
    dead = false;
    const before = upstreams[0]!.requests.length;
    expect(status()).toMatchObject({ ready: false });
    expect(upstreams[0]!.requests.length).toBe(before);
    now = 6000;
    await expect.poll(status).toMatchObject({ ready: true, upstreams: [{ error: null }] });
  });

  it('starts although all servers are down, and finds them when they are there', async () => {
    let down = true;
    const llama = llamaCppDouble();
    const { url, status } = await models([(request, reply) => (down ? reply.cut() : llama(request, reply))], {
      retries: 0,
    });
    expect(await streamed(url)).toMatchObject({ status: 502, error: { code: 'upstream_unreachable' } });
    expect(status()).toMatchObject({ ready: false });
    down = false;
    expect(await streamed(url)).toMatchObject({ text: TEXT, done: true });
    expect(status()).toMatchObject({ ready: true, upstreams: [{ capabilities: { resume: 'tokens' } }] });
  });
});
