import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { chatRequest } from '../../support/raw.js';
import { scriptedGateway } from '../../support/scripted-model.js';
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
  ])('are over with their connection: %s', async (_name, stream) => {
    const gateway = await useTestGateway();
    const first = chat(ask('wait', { stream: true }));
    const other = chat(ask('wait', { stream }));
    const socket = await pipelined(gateway.url, first, other, other, other);
    await expect.poll(() => gateway.live.size).toBe(4);
    socket.destroy();
    await expect.poll(() => gateway.live.size).toBe(0);
    // Each has its line in the log, too.
    const logged = () => gateway.log.filter((line) => line.includes('"msg":"request"'));
    await expect.poll(() => logged().length).toBe(4);
  });

  it('are cut off where one of them waits for too long behind another', async () => {
    const { url, gateway } = await scriptedGateway(
      { streams: { queue_bytes: 4096, stall_s: 0.2 } },
      { text: () => 'x'.repeat(2000), pauseMs: 20 },
    );
    const body = { ...ask('go', { stream: true, max_tokens: 1_000_000 }), model: 'reasoner' };
    const socket = await pipelined(url, chat(body), chat(body));
    socket.resume();
    await once(socket, 'close');
    await expect.poll(() => gateway.live.size).toBe(0);
  });
});

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
