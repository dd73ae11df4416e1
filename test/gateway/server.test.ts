import { describe, expect, it } from 'vitest';
import { startGateway } from '#gateway/index.js';
import { TestSocket } from '../support/gateway.js';

describe('startGateway', () => {
  it('says goodbye to its clients when it is closed', async () => {
    const gateway = await startGateway({ engines: new Map(), port: 0 });
    const socket = await TestSocket.open(gateway.url);
    await gateway.close();
    await expect.poll(() => socket.closeCode).toBe(1001);
    await expect(fetch(gateway.url)).rejects.toThrow();
  });

  it('fails when the port is taken', async () => {
    const gateway = await startGateway({ engines: new Map(), port: 0 });
    const port = Number(new URL(gateway.url).port);
    await expect(startGateway({ engines: new Map(), port })).rejects.toThrow('EADDRINUSE');
    await gateway.close();
  });
});
