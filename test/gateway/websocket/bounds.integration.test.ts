import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TestSocket } from '../../support/gateway.js';
import { converse, exchange, frame, handshake, OPCODE } from '../../support/raw.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const MESSAGE_BYTES = 16 << 10;
const part = (size: number) => frame(OPCODE.text, 'x'.repeat(size), { fin: false });

async function answers(socket: TestSocket): Promise<void> {
  socket.send({ type: 'generation.create', request_id: 'honest', ...ask('hello') });
  await socket.event(({ type }) => type === 'generation.done');
}

it('refused messages have a budget in bytes; then their client is closed, and refused for the minute', async () => {
  const gateway = await useTestGateway({ limits: { body_bytes: MESSAGE_BYTES } });
  const honest = await TestSocket.open(gateway.url);
  const refused = JSON.stringify({
    type: 'generation.create',
    ...ask('x'.repeat(MESSAGE_BYTES - 200)),
    n: 'many',
  });
  const messages = Array.from({ length: 24 }, () => frame(OPCODE.text, refused));
  const { closeCode, messages: heard } = await converse(gateway.url, ...messages);
  expect(closeCode).toBe(4500);
  expect(heard.length).toBeGreaterThanOrEqual(16);
  expect(heard[0]).toMatchObject({ type: 'error', error: { param: 'n' } });
  expect(await exchange(gateway.url, handshake())).toMatch(/^HTTP\/1\.1 429 .*"code":"rate_limited"/s);
  // Who refuses nothing may go on.
  await answers(honest);
  expect(await fetch(`${gateway.url}/v1/models`)).toMatchObject({ status: 200 });
});

it('a message that is never whole ends its connection, though its pings are answered', async () => {
  const gateway = await useTestGateway({ bounds: { bodyMs: 500, heartbeatMs: 200 } });
  const honest = await TestSocket.open(gateway.url);
  const unfinished = await TestSocket.open(gateway.url);
  unfinished.begin('x'.repeat(1000));
  await Promise.all([expect.poll(() => unfinished.closeCode).toBe(1008), setTimeout(1500)]);
  // Idle for longer, with pongs in between, but with no message under way.
  expect(honest.closeCode).toBeNull();
  await answers(honest);
});

it('unfinished messages of all connections have a bound together', async () => {
  const gateway = await useTestGateway({ limits: { body_bytes: MESSAGE_BYTES }, bounds: { bodyMs: 3000 } });
  const honest = await TestSocket.open(gateway.url);
  const closed: number[] = [];
  const start = performance.now();
  const sockets = Array.from({ length: 100 }, async () => {
    await converse(gateway.url, part(MESSAGE_BYTES - 100));
    closed.push(performance.now() - start);
  });
  await expect.poll(() => closed.length).toBeGreaterThanOrEqual(100 - 64);
  await answers(honest);
  await Promise.all(sockets);
  expect(honest.closeCode).toBeNull();
  // The others only once they took too long.
  expect(closed.filter((ms) => ms > 2900).length).toBeGreaterThan(50);
});
