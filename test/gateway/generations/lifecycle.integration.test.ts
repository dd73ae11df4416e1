import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Running, start } from '../../support/cli.js';
import { post, sseData, TestSocket } from '../../support/gateway.js';
import { LONG_QUESTION } from '../../support/requests.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

async function all(response: Response): Promise<string[]> {
  const events: string[] = [];
  for await (const data of sseData(response)) events.push(data);
  return events;
}

describe('draining', () => {
  it('refuses new work, is not ready but alive, and lets streams finish', async () => {
    const gateway = await useTestGateway();
    const streaming = await post(gateway.url, ask('wait', { stream: true }));
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(({ type }) => type === 'token.delta');
    expect(await statusOf(`${gateway.url}/readyz`)).toBe(200);

    const drained = gateway.drain();
    expect(await statusOf(`${gateway.url}/readyz`)).toBe(503);
    expect(await statusOf(`${gateway.url}/livez`)).toBe(200);
    expect(await statusOf(`${gateway.url}/healthz`)).toBe(200);
    const refused = await post(gateway.url, ask('hello'));
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(refused.headers.get('connection')).toBe('close');
    expect(await refused.json()).toMatchObject({ error: { code: 'shutting_down' } });
    expect((await fetch(`${gateway.url}/v1/tickets`, { method: 'POST' })).status).toBe(503);
    const late = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/stream`, 'flinch.v1');
    late.on('error', () => {});
    const [, response] = await once(late, 'unexpected-response');
    expect(response.statusCode).toBe(503);
    socket.send({ type: 'generation.create', request_id: 'late', ...ask('hello') });
    expect(await socket.event(({ request_id }) => request_id === 'late')).toMatchObject({
      error: { code: 'shutting_down' },
    });

    gateway.model.finish();
    await drained;
    expect((await all(streaming)).at(-1)).toBe('[DONE]');
    await socket.event(({ type }) => type === 'generation.done');
    await expect.poll(() => socket.closeCode).toBe(1001);
    await expect(fetch(gateway.url)).rejects.toThrow();
  });

  it('tells streams that take too long, in band and without [DONE]', async () => {
    const gateway = await useTestGateway({ shutdown: { drain_s: 0 } });
    const streaming = await post(gateway.url, ask('wait', { stream: true }));
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(({ type }) => type === 'token.delta');
    await gateway.drain();
    const last = (await all(streaming)).at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'shutting_down' } });
    expect(await socket.event(({ type }) => type === 'error')).toMatchObject({
      response_id: expect.any(String),
      error: { code: 'shutting_down' },
    });
    await expect.poll(() => socket.closeCode).toBe(1001);
  });

  it('lets in who has a generation to resume, by key and by ticket, and nobody else', async () => {
    const env = { MINE: 'a-key-for-these-tests', OTHER: 'another-key-for-them' };
    const keys = [
      { name: 'mine', env: 'MINE' },
      { name: 'other', env: 'OTHER' },
    ];
    const gateway = await useTestGateway({ access: { keys } }, { env });
    const authorized = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
    const ticketOf = (key: string) =>
      fetch(`${gateway.url}/v1/tickets`, { method: 'POST', ...authorized(key) });
    const connect = async (key: string, path = '/v1/stream'): Promise<WebSocket | number> => {
      const options = path.includes('ticket') ? {} : authorized(key);
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}${path}`, 'flinch.v1', options);
      socket.on('error', () => {});
      return await new Promise((resolve) => {
        socket.once('open', () => resolve(socket));
        socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
      });
    };
    const heard = async (socket: WebSocket) => JSON.parse(String((await once(socket, 'message'))[0]));

    const first = await connect(env.MINE);
    if (typeof first === 'number') throw new Error(`refused: ${first}`);
    first.send(JSON.stringify({ type: 'generation.create', resumable: true, ...ask('wait') }));
    const { response_id, epoch } = await heard(first);
    const drained = gateway.drain();
    first.terminate();

    expect(await connect(env.OTHER)).toBe(503);
    expect((await ticketOf(env.OTHER)).status).toBe(503);
    const answer = await ticketOf(env.MINE);
    expect(answer.status).toBe(201);
    const { ticket } = (await answer.json()) as { ticket: string };
    for (const socket of [await connect(env.MINE), await connect('', `/v1/stream?ticket=${ticket}`)]) {
      if (typeof socket === 'number') throw new Error(`refused: ${socket}`);
      socket.send(JSON.stringify({ type: 'generation.resume', response_id, epoch, offset: 0 }));
      expect(await heard(socket)).toMatchObject({ recovered: true });
    }
    gateway.model.finish();
    await drained;
  });

  it('is cut short by closing', async () => {
    const gateway = await useTestGateway();
    const streaming = await post(gateway.url, ask('wait', { stream: true }));
    const drained = gateway.drain();
    await gateway.close();
    await drained;
    expect(gateway.live.size).toBe(0);
    expect((await all(streaming).catch(() => [])).at(-1)).not.toBe('[DONE]');
  });

  it('is not ready while no model is', async () => {
    const gateway = await useTestGateway();
    gateway.model.ready = false;
    const response = await fetch(`${gateway.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([503, { status: 'unavailable' }]);
    expect(await statusOf(`${gateway.url}/livez`)).toBe(200);
  });
});

describe('flinch serve', () => {
  const running: Running[] = [];
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL');
  });

  async function serve(env: NodeJS.ProcessEnv = {}) {
    const process = start(['serve', '--port', '0'], null, env);
    running.push(process);
    let url = '';
    await expect.poll(() => (url = /http:\/\/[\d.:]+/.exec(process.stdout())?.[0] ?? '')).not.toBe('');
    return { ...process, url };
  }

  it.skipIf(platform() !== 'linux')('leaves at once while its models are still being opened', async () => {
    const { child, stdout, finished } = start(['serve', '--port', '0'], null);
    const engines = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
    while (engines() === '') await setTimeout(5);
    child.kill('SIGTERM');
    // Not by the signal itself: a process 1 would not feel that.
    expect((await finished).code).toBe(143);
    expect(stdout()).not.toContain('http');
  });

  const question = (guard: object = {}) => ({
    model: 'reasoner',
    temperature: 0,
    stream: true,
    messages: [{ role: 'user', content: LONG_QUESTION }],
    max_tokens: 100,
    guard,
  });
  /** Scores that take far longer to compute than a test waits. */
  const SLOW = { methods: ['random'], scoring: { block: 1, window: 'all' } };

  it('lets streams finish after SIGTERM, and leaves with code 0', async () => {
    const { url, child, finished } = await serve();
    const streaming = await post(url, question());
    child.kill('SIGTERM');
    expect((await all(streaming)).at(-1)).toBe('[DONE]');
    const { code, stderr } = await finished;
    expect(code).toBe(0);
    expect(stderr).toContain('draining');
  });

  it('tells those that take longer than it waits, and leaves with code 0', async () => {
    const { url, child, finished } = await serve({ FLINCH_SHUTDOWN_DRAIN_S: '0' });
    const streaming = await post(url, question(SLOW));
    child.kill('SIGINT');
    const events = await all(streaming);
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { code: 'shutting_down' } });
    expect((await finished).code).toBe(0);
  });

  it('leaves at once after a second signal', async () => {
    const { url, child, finished, stderr } = await serve({ FLINCH_SHUTDOWN_DRAIN_S: '3600' });
    const streaming = await post(url, question(SLOW));
    child.kill('SIGTERM');
    await expect.poll(stderr).toContain('draining');
    child.kill('SIGTERM');
    await all(streaming).catch(() => []);
    expect((await finished).code).toBe(130);
  });
});
