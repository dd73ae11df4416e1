import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { platform } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { chatRequest } from '../../support/raw.js';
import { startTestGateway, type TestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const CONNECTIONS = 32;
const SHARE = 28; // seven eighths
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    health: { port: 0 },
    limits: { connections: CONNECTIONS },
    bounds: { headerMs: 500 },
  });
});
afterAll(() => gateway.close());

/** Other addresses of loopback than 127.0.0.1 are there on Linux alone. */
const linux = it.runIf(platform === 'linux');

const statusAt = (url: string, localAddress = '127.0.0.1'): Promise<number> =>
  new Promise((resolve) => {
    const request = get(url, { localAddress, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', () => resolve(0));
  });

async function opened(count: number, send: string | Uint8Array = ''): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(gateway.url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  for (const socket of sockets) {
    socket.on('error', () => {}).resume();
    if (send !== '') socket.write(send);
  }
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

const left = (): Promise<number> =>
  new Promise((resolve) => gateway.server.getConnections((_, count) => resolve(count)));

describe('a gateway whose connections are all taken', () => {
  it('takes on another one in place of one that does nothing, which is closed soon anyway', async () => {
    const idle = await opened(2 * CONNECTIONS);
    expect(await statusAt(`${gateway.url}/livez`)).toBe(200);
    await expect.poll(() => idle.every(({ closed }) => closed)).toBe(true);
    await expect.poll(left).toBe(0);
  });

  linux('leaves places for other addresses, and answers probes at its health port', async () => {
    const body = ask('wait', { stream: true });
    const streams = await opened(SHARE, chatRequest(JSON.stringify(body)));
    await expect.poll(() => gateway.live.size).toBe(SHARE);
    expect(await statusAt(`${gateway.url}/livez`)).toBe(0);
    expect(await statusAt(`${gateway.url}/livez`, '127.0.0.2')).toBe(200);
    for (const path of ['livez', 'readyz', 'healthz', 'metrics'])
      expect(await statusAt(`${gateway.healthUrl}/${path}`), path).toBe(200);
    expect(await statusAt(`${gateway.healthUrl}/v1/models`)).toBe(404);
    for (const socket of streams) socket.destroy();
    await expect.poll(left).toBe(0);
    expect(await statusAt(`${gateway.url}/livez`)).toBe(200);
  });

  it('lets nobody have more than half of them as WebSockets', async () => {
    const url = `${gateway.url.replace('http', 'ws')}/v1/stream`;
    const dial = async () => {
      const socket = new WebSocket(url, 'flinch.v1');
      const status = await new Promise<number>((resolve) => {
        socket.on('open', () => resolve(101)).on('error', () => {});
        socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
      });
      return { socket, status };
    };
    const all = [];
    for (let i = 0; i < CONNECTIONS / 2 + 2; i++) all.push(await dial());
    expect(all.filter(({ status }) => status === 101)).toHaveLength(CONNECTIONS / 2);
    expect(all.at(-1)?.status).toBe(429);
    for (const { socket } of all) socket.terminate();
    await expect
      .poll(async () => {
        const { socket, status } = await dial();
        socket.terminate();
        return status;
      })
      .toBe(101);
  });
});
