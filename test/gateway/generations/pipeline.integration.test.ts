import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { chatRequest, exchange, request } from '../../support/raw.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

/** Sends requests in one piece, and waits until they have been heard. */
async function pipelined(url: string, ...requests: readonly Buffer[]) {
  const socket = connect(Number(new URL(url).port), new URL(url).hostname);
  socket.on('error', () => {});
  socket.write(Buffer.concat(requests));
  await once(socket, 'data');
  return socket;
}

const chat = (body: object) => chatRequest(JSON.stringify(body), { Connection: null });

describe('requests in a pipeline', () => {
  it.each([
    ['streamed', true],
    ['whole', false],
  ])('are served one after the other: %s', async (_name, stream) => {
    const gateway = await useTestGateway();
    const socket = await pipelined(
      gateway.url,
      chat(ask('wait', { stream: true })),
      chat(ask('wait', { stream })),
    );
    await fetch(`${gateway.url}/livez`);
    expect(gateway.live.size).toBe(1);
    gateway.model.asked = null;
    gateway.model.finish();
    await expect.poll(() => gateway.model.asked).not.toBeNull();
    expect(gateway.live.size).toBe(1);
    socket.destroy();
    await expect.poll(() => gateway.live.size).toBe(0);
  });

  it('are not served once their connection has ended', async () => {
    const gateway = await useTestGateway();
    const one = chat(ask('wait', { stream: true }));
    const socket = await pipelined(gateway.url, one, one, one, one);
    gateway.model.asked = null;
    socket.destroy();
    await expect.poll(() => gateway.live.size).toBe(0);
    await fetch(`${gateway.url}/livez`);
    expect(gateway.model.asked).toBeNull();
  });

  it('are answered in order, also behind one that is refused', async () => {
    const { url } = await useTestGateway();
    const [get, refused] = ['/livez', '/nowhere'].map((path) => request(`GET ${path}`, { Connection: null }));
    const text = await exchange(url, Buffer.concat([get!, refused!, get!, request('GET /readyz')]));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([200, 404, 200, 200].map((status) => `HTTP/1.1 ${status}`));
  });

  it.each([1, 17])('%i is a pipeline that is served', async (length) => {
    const { url } = await useTestGateway();
    const text = await exchange(url, ...Array<Buffer>(length - 1).fill(GET), request('GET /style.css'));
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(length);
  });

  it('too many close their connection', async () => {
    const gateway = await useTestGateway();
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(Buffer.concat(Array<Buffer>(1700).fill(GET)));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    await fetch(gateway.url);
    // None was begun but the first.
    expect(gateway.log.filter((line) => line.includes('"msg":"request"')).length).toBeLessThan(5);
  });
});

const GET = request('GET /style.css', { Connection: null });

describe('a request that is none', () => {
  it('ends a response that has begun, and leaves nothing in it', async () => {
    const gateway = await useTestGateway();
    const socket = await pipelined(gateway.url, chat(ask('wait', { stream: true })));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write('no HTTP\r\n\r\n');
    await once(socket, 'close');
    expect(text).not.toContain('HTTP/1.1 400');
    await expect.poll(() => gateway.live.size).toBe(0);
  });
});
