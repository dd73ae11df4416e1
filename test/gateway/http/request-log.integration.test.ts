import { describe, expect, it } from 'vitest';
import { post, TestSocket } from '../../support/gateway.js';
import { exchange, request } from '../../support/raw.js';
import { type TestGateway, useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const linesOf = ({ log }: TestGateway): Record<string, unknown>[] => log.map((line) => JSON.parse(line));
const metricsOf = async ({ metricsUrl }: TestGateway): Promise<string> => (await fetch(metricsUrl)).text();

describe('the log', () => {
  it('has a line for each request, with its name, which the answer has too', async () => {
    const gateway = await useTestGateway();
    const response = await post(gateway.url, ask('hello'));
    await response.text();
    await expect.poll(() => gateway.log.length).toBe(1);
    expect(linesOf(gateway)).toMatchObject([
      {
        msg: 'request',
        request_id: response.headers.get('x-request-id'),
        method: 'POST',
        route: '/v1/chat/completions',
        status: 200,
        model: 'waiting',
        principal: 'anonymous',
        complete: true,
        completion_tokens: 2,
        finish_reason: 'stop',
        flagged_steps: 0,
      },
    ]);
  });

  it('names what was refused by its code, and a connection by its own name', async () => {
    const gateway = await useTestGateway();
    await fetch(`${gateway.url}/v1/models/other?key=secret`, { headers: { 'X-Request-Id': 'mine' } });
    await expect.poll(() => gateway.log.length).toBe(1);
    expect(linesOf(gateway)).toMatchObject([{ request_id: 'mine', status: 404, code: 'model_not_found' }]);
    const socket = await TestSocket.open(gateway.url);
    socket.close();
    await expect
      .poll(() => linesOf(gateway).map(({ msg }) => msg))
      .toEqual(['request', 'socket opened', 'socket closed']);
    const [, opened, closed] = linesOf(gateway);
    expect(opened).toMatchObject({ request_id: expect.any(String), principal: 'anonymous' });
    expect(closed).toMatchObject({ request_id: opened?.request_id, code: 1006 });
  });

  it('has the response that an exemplar names, whichever way it was asked for', async () => {
    const gateway = await useTestGateway();
    await (await post(gateway.url, ask('hello'))).text();
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('hello') });
    await socket.event(({ type }) => type === 'generation.done');
    socket.send({ type: 'generation.create', ...ask('wait') });
    const { response_id } = await socket.event(
      ({ type, response_id: id }) => type === 'token.delta' && id !== socket.events[0]?.response_id,
    );
    socket.send({ type: 'generation.cancel', response_id });
    await expect
      .poll(() => linesOf(gateway).filter(({ response_id: id }) => id !== undefined))
      .toMatchObject([
        { msg: 'request', response_id: expect.stringContaining('chatcmpl-') },
        { msg: 'generation', model: 'waiting', principal: 'anonymous', complete: true, completion_tokens: 2 },
        { msg: 'generation', response_id, complete: false, completion_tokens: 1 },
      ]);
    const [opened] = linesOf(gateway).filter(({ msg }) => msg === 'socket opened');
    const [, over] = linesOf(gateway).filter(({ response_id: id }) => id !== undefined);
    expect(over?.request_id).toBe(opened?.request_id);
    const headers = { Accept: 'application/openmetrics-text' };
    const text = await (await fetch(gateway.metricsUrl, { headers })).text();
    const exemplars = new Set([...text.matchAll(/response_id="([^"]+)"/g)].map(([, id]) => id));
    expect(exemplars.size).toBeGreaterThan(0);
    const logged = linesOf(gateway).map(({ response_id: id }) => id);
    for (const id of exemplars) expect(logged).toContain(id);
    socket.close();
  });

  it('says whose generation failed', async () => {
    const gateway = await useTestGateway();
    const headers = { 'Content-Type': 'application/json', 'X-Request-Id': 'mine' };
    const body = JSON.stringify(ask('wait', { stream: true }));
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
    await gateway.drain(0);
    await response.text();
    const failed = linesOf(gateway).filter(({ msg }) => msg === 'generation failed');
    const code = 'shutting_down';
    expect(failed).toMatchObject([
      { request_id: 'mine', principal: 'anonymous', model: 'waiting', code, response_id: expect.any(String) },
    ]);
  });

  it('does not call an error what is none of the gateway', async () => {
    const gateway = await useTestGateway();
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(({ type }) => type === 'token.delta');
    const drained = gateway.drain();
    socket.send({ type: 'generation.create', request_id: 'late', ...ask('hello') });
    await socket.event(({ request_id }) => request_id === 'late');
    gateway.model.finish();
    await drained;
    const [refused] = linesOf(gateway).filter(({ code }) => code === 'shutting_down');
    expect(refused).toMatchObject({ msg: 'request refused', level: 30 });
    expect(linesOf(gateway).filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('has texts only if they are asked for', async () => {
    for (const texts of [false, true]) {
      const gateway = await useTestGateway({ log: { texts } });
      await (await post(gateway.url, ask('What is it?'))).text();
      await expect.poll(() => linesOf(gateway).some(({ msg }) => msg === 'request')).toBe(true);
      const log = gateway.log.join('');
      expect(log.includes('What is it?')).toBe(texts);
      expect(log.includes('Hello there')).toBe(texts);
    }
  });
});

describe('the metrics', () => {
  it('have a listener of their own, if it is configured', async () => {
    const gateway = await useTestGateway({ metrics: { port: 0 } });
    expect(new URL(gateway.metricsUrl).port).not.toBe(new URL(gateway.url).port);
    const response = await fetch(gateway.metricsUrl);
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('nodejs_eventloop_lag_seconds');
    expect((await fetch(`${gateway.url}/metrics`)).status).toBe(404);
    expect((await fetch(new URL('/v1/models', gateway.metricsUrl))).status).toBe(404);
    await gateway.close();
    await expect(fetch(gateway.metricsUrl)).rejects.toThrow();
  });

  it('are not read by pages of other sites, which may have their name point here', async () => {
    const keys = [{ name: 'web', env: 'KEY' }];
    const config = { metrics: { port: 0 }, access: { keys, hosts: ['metrics.example'] } };
    const gateway = await useTestGateway(config, { env: { KEY: 'a-key-for-these-tests' } });
    const read = (Host: string) => exchange(gateway.metricsUrl, request('GET /metrics', { Host }));
    expect(await read('evil.example')).toMatch(/^HTTP\/1\.1 421 .*"code":"host_not_allowed"/s);
    for (const host of ['127.0.0.1:9464', 'metrics.example'])
      expect(await read(host)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('are read by any name on an address that others reach', async () => {
    const gateway = await useTestGateway({ metrics: { host: '0.0.0.0', port: 0 } });
    const answer = await exchange(gateway.metricsUrl, request('GET /metrics', { Host: 'gateway.example' }));
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('do not take a client that left before the answer for one that was served', async () => {
    const gateway = await useTestGateway();
    const status = (name: string) =>
      new RegExp(`_count\\{method="POST",route="/v1/chat/completions",status="${name}"\\} (\\d+)\\n`);
    // All that may come are there from the start: one that first appears with an error has no rate.
    for (const name of ['2xx', '4xx', '5xx', 'aborted'])
      expect(status(name).exec(await metricsOf(gateway))?.[1]).toBe('0');
    const left = new AbortController();
    const headers = { 'Content-Type': 'application/json' };
    const url = `${gateway.url}/v1/chat/completions`;
    const body = JSON.stringify(ask('wait'));
    const asked = fetch(url, { method: 'POST', headers, body, signal: left.signal }).catch(() => null);
    await expect.poll(() => metricsOf(gateway)).toContain('flinch_active_generations 1\n');
    left.abort();
    await asked;
    await expect.poll(async () => status('aborted').exec(await metricsOf(gateway))?.[1]).toBe('1');
    expect(status('2xx').exec(await metricsOf(gateway))?.[1]).toBe('0');
    const [line] = linesOf(gateway).filter(({ route }) => route === '/v1/chat/completions');
    expect(line).toMatchObject({ status: null, complete: false });
  });

  it('say what is under way', async () => {
    const gateway = await useTestGateway();
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(({ type }) => type === 'token.delta');
    expect(await metricsOf(gateway)).toContain('flinch_active_generations 1\n');
    expect(await metricsOf(gateway)).toContain('flinch_connections{kind="websocket"} 1\n');
    gateway.model.finish();
    await socket.event(({ type }) => type === 'generation.done');
    socket.close();
    await expect.poll(() => metricsOf(gateway)).toContain('flinch_connections{kind="websocket"} 0\n');
    expect(await metricsOf(gateway)).toContain('flinch_active_generations 0\n');
  });

  it('time requests by route, and count refusals by code', async () => {
    const gateway = await useTestGateway();
    await (await post(gateway.url, ask('hello'))).text();
    await (await post(gateway.url, 'no JSON')).text();
    await expect.poll(() => metricsOf(gateway)).toMatch(/route="\/v1\/chat\/completions",status="4xx"\} 1\n/);
    const text = await metricsOf(gateway);
    expect(text).toMatch(/_count\{method="POST",route="\/v1\/chat\/completions",status="2xx"\} 1\n/);
    expect(text).toContain('flinch_refused_requests_total{code="invalid_json"} 1\n');
    const socket = await TestSocket.open(gateway.url);
    socket.send('no JSON');
    await socket.event(({ type }) => type === 'error');
    expect(await metricsOf(gateway)).toContain('flinch_refused_requests_total{code="invalid_json"} 2\n');
    socket.close();
  });
});
