import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { end, isRunning, type RunningServer, recorded, remember } from '#lab/peers/running.js';
import { startOf } from '#src/files/process-start.js';
import { useFolder } from '../../support/cli.js';

const root = useFolder().path('.');

/** A process that leads a group of its own, as servers do. */
async function startGroup(
  line: string,
): Promise<{ child: ChildProcess; server: RunningServer; first: string }> {
  const child = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [data] = await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  const server: RunningServer = {
    peer: 'vllm',
    model: 'smollm2',
    url: 'http://127.0.0.1:1/v1',
    log: 'log',
    pid,
    start: startOf(pid) ?? '',
  };
  remember(root, server);
  return { child, server, first: String(data).trim() };
}

it('ends a server and the processes that it has started, and forgets it', async () => {
  const { server, first } = await startGroup('sleep 60 & echo $!; wait');
  expect(recorded(root)).toEqual([server]);
  expect(isRunning(server)).toBe(true);
  expect(await end(root, server)).toBe(true);
  expect(isRunning(server)).toBe(false);
  await expect.poll(() => startOf(Number(first))).toBeNull();
  expect(recorded(root)).toEqual([]);
});

it('kills a server that does not end', async () => {
  const { server } = await startGroup('trap "" TERM; echo ready; while true; do sleep 0.1; done');
  expect(await end(root, server, 300)).toBe(true);
  expect(isRunning(server)).toBe(false);
});

it('ends a stopped server', async () => {
  const { server, child } = await startGroup('echo ready; sleep 60');
  process.kill(-server.pid, 'SIGSTOP');
  expect(await end(root, server)).toBe(true);
  expect(child.signalCode).not.toBe('SIGKILL');
});

it('leaves alone a process that has got the number of a server', async () => {
  const { server, child } = await startGroup('echo ready; sleep 60');
  const before = { ...server, start: 'of another process' };
  remember(root, before);
  expect(await end(root, before)).toBe(false);
  expect(isRunning(server)).toBe(true);
  expect(child.exitCode).toBeNull();
  expect(recorded(root)).toEqual([]);
});
