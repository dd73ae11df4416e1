import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Models, startGateway } from '#gateway/index.js';

describe('startGateway', () => {
  it('survives upgrade requests that are refused, whatever the client does then', async () => {
    const gateway = await startGateway({ models: new Models([]), config: { listen: { port: 0 } } });
    const { port } = new URL(gateway.url);
    const knock = (path: string, leave: (socket: Socket) => void) =>
      new Promise<string>((resolve) => {
        const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
        let answer = '';
        socket.on('data', (data) => (answer += data));
        socket.on('error', () => {});
        socket.on('end', () => resolve(answer));
        socket.on('close', () => resolve(answer));
        const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nHost: localhost\r\n\r\n';
        socket.write(`GET ${path} HTTP/1.1\r\n${upgrade}`, () => leave(socket));
      });
    expect(await knock('//', () => {})).toContain('404 Not Found');
    expect(await knock('/v1/stream', () => {})).toContain('426 Upgrade Required');
    for (let i = 0; i < 10; i++) await knock('/nope', (socket) => socket.resetAndDestroy());
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    await gateway.close(); // not held up by connections that the other side keeps half open
  });

  it('holds connections that are not used for longer than proxies do, which would ask on one that just ends', async () => {
    const gateway = await startGateway({ models: new Models([]), config: { listen: { port: 0 } } });
    const { headers } = await fetch(`${gateway.url}/healthz`);
    await gateway.close();
    expect(headers.get('keep-alive')).toBe('timeout=75');
  });

  it('fails when the port is taken', async () => {
    const gateway = await startGateway({ models: new Models([]), config: { listen: { port: 0 } } });
    const port = Number(new URL(gateway.url).port);
    await expect(startGateway({ models: new Models([]), config: { listen: { port } } })).rejects.toThrow(
      'EADDRINUSE',
    );
    await gateway.close();
  });
});
