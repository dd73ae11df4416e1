import { Server } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { closeUnread } from '#gateway/http/unread.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it('a connection has as long for the first bytes of a response as for others', () => {
  const server = new Server();
  closeUnread(server, 30_000);
  server.emit('listening');
  vi.advanceTimersByTime(60_000);
  const all = { value: 1000 };
  const connection = Object.defineProperties(new Socket(), { bytesWritten: all, writableLength: all });
  server.emit('connection', connection);
  vi.advanceTimersByTime(29_000);
  expect(connection.destroyed).toBe(false);
  vi.advanceTimersByTime(3000);
  expect(connection.destroyed).toBe(true);
});
