import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { platform } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { start, useFolder } from '../../support/cli.js';
import { chatBody, ofType, TestSocket } from '../../support/gateway.js';
import { REASONER } from '../../support/golden.js';
import { Scrape } from '../../support/metrics.js';
import { kill } from '../../support/process.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { gone, Serving } from '../../support/serving.js';
import { vllmDouble } from '../../support/upstream-doubles.js';

const WORDS = Array.from({ length: 200 }, (_, i) => ` ${i}`);
/** Of the slow model, between two tokens. */
const PACE_MS = 15;
const CONNECTIONS = 40;
const FIRST_TOKENS = 'gen_ai_server_time_to_first_token_seconds_count';

const KEYS = {
  WEB_KEY: 'web-0123456789abcdef',
  FEW_KEY: 'few-0123456789abcdef',
  RATED_KEY: 'rated-0123456789abc',
};
const bearer = (key: keyof typeof KEYS) => ({ Authorization: `Bearer ${KEYS[key]}` });

const folder = useFolder();
const upstreams: ScriptedUpstream[] = [];
const servings: Serving[] = [];

/** Models that other servers run. */
const upstreamModels = () => ({
  fast: { upstreams: [{ url: upstreams[0]!.url }] },
  slow: { upstreams: [{ url: upstreams[1]!.url }], max_streams: 4 },
});

function config(changes: object): string {
  const access = {
    keys: [
      { name: 'web', env: 'WEB_KEY', metrics: true, generate: true },
      { name: 'few', env: 'FEW_KEY', generations: 2 },
      { name: 'rated', env: 'RATED_KEY', requests_per_minute: 6 },
    ],
  };
  return folder.write(
    `flinch-${servings.length}.json`,
    JSON.stringify({
      workers: 2,
      models: { ...upstreamModels(), reasoner: { checkpoint: REASONER, max_streams: 1 } },
      access,
      limits: { connections: CONNECTIONS, connections_per_address: CONNECTIONS },
      ...changes,
    }),
  );
}

async function serve(changes: object = {}): Promise<Serving> {
  const serving = await Serving.start(['--config', config(changes)], KEYS);
  servings.push(serving);
  return serving;
}

beforeAll(async () => {
  upstreams.push(await startScriptedUpstream(vllmDouble({ answer: WORDS.slice(0, 8) })));
  const pace = () => setTimeout(PACE_MS);
  upstreams.push(await startScriptedUpstream(vllmDouble({ answer: WORDS, pace })));
});
afterAll(async () => {
  for (const serving of servings) serving.kill();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

const body = (model: string, changes: object = {}) => chatBody({ model, stream: true, ...changes });

/** A stream on a connection of its own; what came of it so far, and how it ended. */
function stream(url: string, asked: object, key: keyof typeof KEYS = 'WEB_KEY') {
  const state = { status: 0, text: '', over: false };
  const headers = { 'Content-Type': 'application/json', ...bearer(key) };
  const sent = request(
    `${url}/v1/chat/completions`,
    { agent: false, method: 'POST', headers },
    (response) => {
      state.status = response.statusCode ?? 0;
      response.on('data', (data) => {
        state.text += data;
      });
      response.on('close', () => {
        state.over = true;
      });
      response.on('error', () => {});
    },
  );
  sent.on('error', () => {
    state.over = true;
  });
  sent.end(JSON.stringify(asked));
  return {
    state,
    complete: () => state.text.includes('[DONE]'),
    code: () => (state.status >= 400 && state.text !== '' ? JSON.parse(state.text).error.code : null),
    close: () => sent.destroy(),
  };
}

const statuses = (streams: readonly ReturnType<typeof stream>[]) =>
  streams.map(({ state, code }) => code() ?? state.status).sort();

describe('flinch serve --workers 2', () => {
  let serving: Serving;
  const metrics = async () => new Scrape((await serving.get('/metrics', bearer('WEB_KEY'))).text);
  beforeAll(async () => {
    serving = await serve();
  });

  it('serves in both, and adds up what they count', async () => {
    for (let i = 0; i < 8; i++) {
      const answer = await serving.send('POST', '/v1/chat/completions', body('fast'), bearer('WEB_KEY'));
      expect([answer.status, answer.text.includes('[DONE]')]).toEqual([200, true]);
    }
    const { workers, status } = await serving.health();
    expect(status).toBe('ok');
    expect(workers).toMatchObject([1, 2].map((id) => ({ id, restarts: 0, ready: true })));
    const served = serving.log.filter(({ model }) => model === 'fast').map(({ worker }) => worker);
    expect(new Set(served)).toEqual(new Set([1, 2]));
    for (let i = 0; i < 2; i++) {
      const scrape = await metrics();
      expect(scrape.sum('flinch_generations_total', { model: 'fast' })).toBe(8);
      expect(scrape.sum(FIRST_TOKENS, { gen_ai_request_model: 'fast' })).toBe(8);
      expect(scrape.sum('flinch_build_info')).toBe(1);
      expect(scrape.sum('flinch_engine_up', { model: 'reasoner' })).toBe(2);
    }
  });

  it('counts requests, generations and streams of a model over both', async () => {
    const rated = await Promise.all(
      Array.from({ length: 12 }, () =>
        serving.send('POST', '/v1/chat/completions', body('fast'), bearer('RATED_KEY')),
      ),
    );
    expect(rated.map(({ status }) => status).sort()).toEqual([...Array(6).fill(200), ...Array(6).fill(429)]);

    const few = Array.from({ length: 6 }, () => stream(serving.url, body('slow'), 'FEW_KEY'));
    await expect.poll(() => statuses(few)).toEqual([200, 200, ...Array(4).fill('too_many_generations')]);
    for (const { close } of few) close();
    await expect.poll(async () => (await serving.health()).models[1]?.streams).toBe(0);

    const many = Array.from({ length: 7 }, () => stream(serving.url, body('slow')));
    await expect.poll(() => statuses(many)).toEqual([...Array(4).fill(200), ...Array(3).fill('overloaded')]);
    expect((await serving.health()).models[1]?.streams).toBe(4);
    expect((await metrics()).sum('flinch_active_generations')).toBe(4);
    for (const { close } of many) close();
    await expect.poll(async () => (await serving.health()).models[1]?.streams).toBe(0);
  });

  it('closes connections beyond the limit of both together', async () => {
    const { hostname, port } = new URL(serving.url);
    const open = new Set<Socket>();
    for (let i = 0; i < 2 * CONNECTIONS; i++) {
      const socket = connect(Number(port), hostname);
      open.add(socket);
      socket.on('error', () => {}).on('close', () => open.delete(socket));
    }
    await expect.poll(() => open.size).toBe(CONNECTIONS);
    await setTimeout(200);
    expect(open.size).toBe(CONNECTIONS);
    for (const socket of open) socket.destroy();
    await expect.poll(() => serving.health().then(({ status }) => status, String)).toBe('ok');
  });

  it('takes a ticket once', async () => {
    const issued = await serving.send('POST', '/v1/tickets', undefined, bearer('WEB_KEY'));
    const { ticket } = JSON.parse(issued.text);
    const url = `${serving.url.replace('http', 'ws')}/v1/stream?ticket=${ticket}`;
    const tried = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = new WebSocket(url, 'flinch.v1');
        const opened = await new Promise<boolean>((resolve) => {
          socket.once('open', () => resolve(true)).once('error', () => resolve(false));
        });
        socket.terminate();
        return opened;
      }),
    );
    expect(tried.filter(Boolean)).toHaveLength(1);
  });

  it('runs each engine once, and bounds its streams over both', async () => {
    const before = await serving.health();
    const asked = { ...body('reasoner'), max_tokens: 300, temperature: 1 };
    const streams = Array.from({ length: 4 }, () => stream(serving.url, asked));
    await expect.poll(() => statuses(streams)).toEqual([200, ...Array(3).fill('overloaded')]);
    for (const { close } of streams) close();
    for (const turn of [1, 2, 3, 4]) {
      const once = chatBody({ max_tokens: 4, seed: turn });
      await expect
        .poll(async () => (await serving.send('POST', '/v1/chat/completions', once, bearer('WEB_KEY'))).text)
        .toContain('"verdict"');
    }
    const after = await serving.health();
    expect(after.models[2]).toEqual(before.models[2]);

    const cut = stream(serving.url, asked);
    await expect.poll(() => cut.state.text).not.toBe('');
    kill(z.object({ pid: z.number() }).parse(after.models[2]?.decode).pid);
    await expect.poll(() => cut.state.text).toContain('engine_crashed');
    const restarted = { ready: true, decode: { restarts: 1 } };
    await expect.poll(async () => (await serving.health()).models[2]).toMatchObject(restarted);
    expect((await metrics()).sum('flinch_engine_restarts_total', { model: 'reasoner' })).toBe(1);
  });
});

describe('a generation of the other worker', () => {
  let serving: Serving;
  let metricsPort = 0;
  beforeAll(async () => {
    metricsPort = await freePort();
    serving = await serve({ access: {}, models: upstreamModels(), metrics: { port: metricsPort } });
  });

  /** A connection, and which worker has it. */
  async function open() {
    const before = serving.log.length;
    const socket = await TestSocket.open(serving.url);
    const opened = () => serving.log.slice(before).find(({ msg }) => msg === 'socket opened')?.worker;
    await expect.poll(opened).toBeDefined();
    return { socket, worker: opened()! };
  }

  /** The same of another worker than this one. */
  async function openElsewhere(worker: number) {
    for (;;) {
      const opened = await open();
      if (opened.worker !== worker) return opened;
      opened.socket.close();
    }
  }

  async function begin(changes: object = {}) {
    const { socket, worker } = await open();
    socket.send({ type: 'generation.create', ...chatBody({ model: 'slow', resumable: true, ...changes }) });
    const { response_id, epoch } = await socket.event(ofType('generation.created'));
    await socket.event(({ offset }) => offset === 5);
    return { socket, worker, place: { response_id, epoch } };
  }

  it('goes on over WebSocket, paused and resumed, and may be cancelled', async () => {
    const { socket, worker, place } = await begin();
    socket.close();
    const { socket: next } = await openElsewhere(worker);
    next.send({ type: 'generation.resume', ...place, offset: 3 });
    expect(await next.event(ofType('generation.resumed'))).toMatchObject({ recovered: true });
    await next.event(({ offset }) => offset === 40);
    const offsets = next.events.flatMap(({ offset }) => offset ?? []);
    expect(offsets).toEqual(offsets.map((_, i) => i + 3));
    next.send({ type: 'generation.cancel', response_id: place.response_id });
    expect(await next.event(ofType('generation.done'))).toMatchObject({ finish_reason: 'cancelled' });
    await expect.poll(async () => (await serving.health()).models[1]?.streams).toBe(0);
    next.close();
  });

  it('is taken over from the worker that has it, and given back, and is whole at its end', async () => {
    const { socket, worker, place } = await begin();
    const { socket: next } = await openElsewhere(worker);
    next.send({ type: 'generation.resume', ...place, offset: 0 });
    await next.event(ofType('generation.resumed'));
    expect(await socket.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    await next.event(({ offset }) => offset === 20);
    socket.send({ type: 'generation.resume', ...place, offset: 0 });
    expect(await next.event(ofType('error'))).toMatchObject({ error: { code: 'taken_over' } });
    await socket.event(ofType('generation.done'));
    const after = socket.events.slice(socket.events.findIndex(ofType('generation.resumed')) + 1);
    const offsets = after.flatMap(({ offset }) => offset ?? []);
    expect(offsets).toEqual(offsets.map((_, i) => i));
    next.send({ type: 'generation.resume', ...place, offset: 150 });
    await next.event(ofType('generation.done'));
    for (const each of [socket, next]) each.close();
  });

  it('cannot be resumed from what is gone, nor by an epoch that nobody has', async () => {
    const { socket, worker, place } = await begin();
    socket.close();
    const { socket: next } = await openElsewhere(worker);
    for (const changes of [{ offset: 100_000 }, { offset: 0, epoch: 'AAAAAAAAAAAA' }]) {
      const before = next.events.length;
      next.send({ type: 'generation.resume', ...place, ...changes });
      await expect.poll(() => next.events.slice(before)).toMatchObject([{ recovered: false }]);
    }
    await expect.poll(async () => (await serving.health()).models[1]?.streams).toBe(0);
    next.close();
  });

  it('ends when its client, which never learned its id, asks again at the other', async () => {
    const { socket, worker } = await begin({ request_id: 'mine' });
    socket.close();
    await setTimeout(100);
    expect((await serving.health()).models[1]?.streams).toBe(1);
    const { socket: next } = await openElsewhere(worker);
    const again = chatBody({ model: 'fast', resumable: true, request_id: 'mine' });
    next.send({ type: 'generation.create', ...again });
    await next.event(ofType('generation.done'));
    await expect.poll(async () => (await serving.health()).models[1]?.streams).toBe(0);
    next.close();
  });

  it('goes on over Server-Sent Events, whichever worker is asked', async () => {
    const first = stream(serving.url, body('slow', { resumable: true }));
    await expect.poll(() => first.state.text.split('\n\n').length).toBeGreaterThan(5);
    first.close();
    const [, id = '', at = ''] = /id: (\S+)\/(\d+)\n/.exec(first.state.text) ?? [];
    for (let turn = 0; turn < 4; turn++) {
      const headers = { 'Last-Event-ID': `${id}/${at}` };
      const rest = await serving.get(`/v1/chat/completions/${id.split('/')[1]}`, headers);
      const ids = [...rest.text.matchAll(/^id: \S+\/(\d+)$/gm)].map(([, offset]) => Number(offset));
      expect(ids).toEqual(ids.map((_, i) => Number(at) + 1 + i));
      expect([rest.status, rest.text.includes('[DONE]')]).toEqual([200, true]);
    }
    const resumed = () => serving.log.filter(({ method, route }) => method === 'GET' && route !== '/healthz');
    await expect.poll(() => resumed().length).toBe(4);
    expect(new Set(resumed().map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  });

  it('ends with an error where its worker dies; the connection, and those of the other, live', async () => {
    const { socket, worker, place } = await begin();
    const other = await openElsewhere(worker);
    other.socket.send({ type: 'generation.create', ...chatBody({ model: 'slow', request_id: 'own' }) });
    const { response_id: own } = await other.socket.event(ofType('generation.created'));
    other.socket.send({ type: 'generation.resume', ...place, offset: 0 });
    await other.socket.event(({ response_id, offset }) => response_id === place.response_id && offset === 10);

    const before = await Scrape.of(`http://127.0.0.1:${metricsPort}/metrics`);
    kill((await serving.health()).workers[worker - 1]?.pid ?? undefined);
    const error = await other.socket.event(ofType('error'));
    expect(error).toMatchObject({ response_id: place.response_id, error: { code: 'owner_lost' } });
    await expect.poll(() => socket.closeCode).toBe(1006);
    const done = await other.socket.event(ofType('generation.done'));
    expect(done.response_id).toBe(own);

    await expect
      .poll(async () => (await serving.health()).workers[worker - 1])
      .toMatchObject({ restarts: 1, ready: true });
    other.socket.send({ type: 'generation.resume', ...place, offset: 0 });
    await expect.poll(() => other.socket.events.at(-1)).toMatchObject({ recovered: false });
    // What it held is free, and what it had counted is kept.
    const streams = Array.from({ length: 5 }, () => stream(serving.url, body('slow')));
    await expect.poll(() => statuses(streams)).toEqual([200, 200, 200, 200, 'overloaded']);
    for (const { close } of streams) close();
    const after = await Scrape.of(`http://127.0.0.1:${metricsPort}/metrics`);
    for (const [name, labels] of [
      ['flinch_generated_tokens_total', { model: 'slow' }],
      [FIRST_TOKENS, { gen_ai_request_model: 'slow' }],
    ] as const)
      expect(after.sum(name, labels)).toBeGreaterThanOrEqual(before.sum(name, labels));
    other.socket.close();
  });
});

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

describe.skipIf(platform() !== 'linux')('the processes of flinch serve --workers', () => {
  it('take over policies on SIGHUP, drain on SIGTERM, and are all gone', async () => {
    const serving = await serve({ access: {} });
    const file = folder.path(`flinch-${servings.length - 1}.json`);
    const changed = { ...JSON.parse(readFileSync(file, 'utf8')), guard: { name: 'strict' } };
    folder.write(`flinch-${servings.length - 1}.json`, JSON.stringify(changed));
    serving.kill('SIGHUP');
    await expect.poll(() => serving.log.some(({ msg }) => msg === 'configuration reloaded')).toBe(true);
    const policies = Array.from({ length: 4 }, async () =>
      (await serving.get('/healthz')).text.includes('"strict"'),
    );
    expect(await Promise.all(policies)).toEqual([true, true, true, true]);

    const pids = childrenOf(serving.pid);
    expect(pids).toHaveLength(4); // two workers, and two processes of one engine
    const streams = [1, 2, 3].map(() => stream(serving.url, body('slow')));
    await expect.poll(() => streams.every(({ state }) => state.text !== '')).toBe(true);
    for (const pid of [serving.pid, ...pids]) process.kill(pid, 'SIGTERM'); // as a service manager does
    const { code } = await serving.process.finished;
    expect(streams.map(({ complete }) => complete())).toEqual([true, true, true]);
    expect(code).toBe(0);
    await gone(pids);
  });

  it('end at once on a second Ctrl-C', async () => {
    const serving = await serve({ access: {}, models: upstreamModels() });
    const pids = childrenOf(serving.pid);
    const running = stream(serving.url, body('slow'));
    await expect.poll(() => running.state.text).not.toBe('');
    serving.kill('SIGINT');
    await expect.poll(() => serving.log.some(({ msg }) => msg === 'draining')).toBe(true);
    serving.kill('SIGINT');
    expect((await serving.process.finished).code).toBe(130);
    expect(running.complete()).toBe(false);
    await gone(pids);
  });

  it('are gone after a kill of the first', async () => {
    const serving = await serve({ access: {} });
    const pids = childrenOf(serving.pid);
    const running = stream(serving.url, body('slow'));
    await expect.poll(() => running.state.text).not.toBe('');
    serving.kill('SIGKILL');
    await gone([serving.pid, ...pids]);
  });
});

describe('the number of workers', () => {
  it('is no field of a gateway in a process of another', async () => {
    const { createGateway, Models } = await import('#gateway/index.js');
    const config = { access: { allow_anonymous: true }, workers: 2 };
    expect(() => createGateway({ models: new Models([]), config })).toThrow(/workers: is for flinch serve/);
  });

  it('does not hide why an address cannot be listened on', async () => {
    const { hostname, port } = new URL(upstreams[0]!.url);
    const model = ['--upstream', upstreams[0]!.url, '--upstream-model', 'm'];
    const listen = ['--host', hostname, '--port', port, '--workers', '2'];
    const { code, stderr } = await start(['serve', ...model, ...listen]).finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^flinch: 127\.0\.0\.1:\d+ is in use by another program/m);
  });
});
