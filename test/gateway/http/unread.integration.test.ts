import { once } from 'node:events';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpServer } from '#gateway/http/http-server.js';
import { useFolder } from '../../support/cli.js';
import { chatRequest, request } from '../../support/raw.js';
import { scriptedGateway } from '../../support/scripted-model.js';
import { ask } from '../../support/waiting-model.js';

const folder = useFolder();

/** More than the system's buffers hold. */
const BODY = Buffer.alloc(16 << 20);
const LIMITS = { headerMs: 5000, bodyMs: 5000 };
const STALL_MS = 200;

async function listening(listener: RequestListener) {
  const server = createHttpServer(LIMITS, STALL_MS, listener);
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, port: typeof address === 'object' ? address!.port : 0 };
}

/** A connection to a server that answers with a large body; the client has read nothing of it. */
async function asked() {
  const { server, port } = await listening((_, response) => {
    const slices = 256;
    const size = BODY.length / slices;
    const write = (i: number): void => {
      if (i === slices) response.end();
      else response.write(BODY.subarray(i * size, (i + 1) * size), () => write(i + 1));
    };
    write(0);
  });
  const accepted = once(server, 'connection');
  const socket = connect(port, '127.0.0.1');
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

  it.skipIf(process.platform !== 'linux')('holds one file, however many are asked for', async () => {
    writeFileSync(folder.path('large.bin'), BODY);
    const { server, port } = await listening(express().use(express.static(folder.path(''))));
    const accepted = once(server, 'connection');
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write(Buffer.concat(Array<Buffer>(16).fill(request('GET /large.bin', { Connection: null }))));
    const [connection] = await accepted;
    await expect.poll(() => openFiles('large.bin')).toBe(1);
    await once(connection, 'close');
    await expect.poll(() => openFiles('large.bin')).toBe(0);
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
    const { port } = await listening(async (_, response) => {
      await setTimeout(600);
      response.end('late');
    });
    const answer = await fetch(`http://127.0.0.1:${port}`);
    expect(await answer.text()).toBe('late');
  });
});

/** Descriptors of this process. */
const openFiles = (name: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).endsWith(name);
    } catch {
      return false; // closed meanwhile
    }
  }).length;
