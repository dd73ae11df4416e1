import { createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { poster } from '#gateway/webhooks/post.js';
import { httpReceiver } from '../../support/http-receiver.js';

/** A receiver of raw bytes. */
async function receiver(answer: (socket: Socket) => void): Promise<{ url: string; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port is free');
  return { url: `http://127.0.0.1:${address.port}`, sockets };
}

it('takes the status of an endless answer, and reads no more of it', async () => {
  const part = Buffer.alloc(2 ** 16, 'x');
  const { url, sockets } = await receiver((socket) => {
    const go = (): void => {
      while (!socket.destroyed && socket.write(part));
      if (!socket.destroyed) socket.once('drain', go);
    };
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    go();
  });
  const { post, close } = poster(url);
  expect(await post({}, '{}')).toEqual({ status: 200 });
  await expect.poll(() => sockets.map(({ destroyed }) => destroyed), { timeout: 5000 }).toEqual([true]);
  // What the system's buffers take, and no more.
  expect(sockets[0]!.bytesWritten).toBeLessThan(2 ** 24);
  close();
});

it('waits for no more of an answer that comes slowly', async () => {
  const { url, sockets } = await receiver((socket) => socket.write('HTTP/1.1 204 No Content\r\nX: y'));
  const { url: slow, sockets: waiting } = await receiver((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx');
  });
  const late = poster(url, 300);
  expect(await late.post({}, '{}')).toEqual({ reason: 'ETIMEDOUT' });
  const { post, close } = poster(slow);
  expect(await post({}, '{}')).toEqual({ status: 200 });
  for (const all of [sockets, waiting])
    await expect.poll(() => all.map(({ destroyed }) => destroyed), { timeout: 5000 }).toEqual([true]);
  close();
  late.close();
});

it('has one connection for messages that are answered at once', async () => {
  const ports = new Set<number | undefined>();
  const url = await httpReceiver((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('taken');
  });
  const { post, close } = poster(url);
  for (let i = 0; i < 3; i += 1) {
    expect(await post({}, '{}')).toEqual({ status: 200 });
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(ports.size).toBe(1);
  close();
});
