import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpServer } from '#gateway/http/http-server.js';
import { chatRequest, request } from '../../support/raw.js';
import { scriptedGateway } from '../../support/scripted-model.js';
import { ask } from '../../support/waiting-model.js';

/** More than the system's buffers hold. */
const BODY = Buffer.alloc(16 << 20);
const LIMITS = { connections: 10, header_s: 5, body_s: 5, stall_s: 0.2 };

/** A connection to a server that answers with a large body; the client has read nothing of it. */
async function asked() {
  const server = createHttpServer(LIMITS, (_, response) => {
    const slices = 256;
    const size = BODY.length / slices;
    const write = (i: number): void => {
      if (i === slices) response.end();
      else response.write(BODY.subarray(i * size, (i + 1) * size), () => write(i + 1));
    };
    write(0);
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const address = server.address();
  const socket = connect(typeof address === 'object' ? address!.port : 0, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(request('GET /'));
  const [connection] = await accepted;
  return { socket, closed: once(connection, 'close') };
}

describe('a response that nobody reads', () => {
  it('ends with its connection, whatever the client sends meanwhile', async () => {
    const start = performance.now();
    const { socket, closed } = await asked();
    const talk = setInterval(() => socket.write('\r\n'), 20);
    await closed;
    clearInterval(talk);
    expect(performance.now() - start).toBeGreaterThan(190);
  });

  it('ends with its connection where it is a whole answer', async () => {
    const { url, gateway } = await scriptedGateway(
      { streams: { stall_s: 0.2 } },
      { text: () => 'x'.repeat(1 << 20), pauseMs: 0 },
    );
    const accepted = once(gateway.server, 'connection');
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    const body = { ...ask('go', { max_tokens: 16 }), model: 'reasoner' };
    socket.write(chatRequest(JSON.stringify(body), { Connection: null }));
    const [connection] = await accepted;
    await once(connection, 'close');
    expect(connection.bytesWritten).toBeGreaterThan(0);
  });

  it('is sent to its end where it is read slowly', async () => {
    const { socket } = await asked();
    let read = 0;
    socket.on('data', async (chunk: Buffer) => {
      read += chunk.length;
      socket.pause();
      await setTimeout(3);
      socket.resume();
    });
    await once(socket, 'end');
    expect(read).toBeGreaterThan(BODY.length);
  });

  it('is no response that has nothing to send yet', async () => {
    const server = createHttpServer(LIMITS, async (_, response) => {
      await setTimeout(600);
      response.end('late');
    });
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const answer = await fetch(`http://127.0.0.1:${typeof address === 'object' ? address!.port : 0}`);
    expect(await answer.text()).toBe('late');
  });
});
