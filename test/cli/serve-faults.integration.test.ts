import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { platform } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { CLI_ENTRY } from '#cli/entry.js';
import { freePort } from '#lab/free-port.js';
import { type Running, start } from '../support/cli.js';
import { chatBody, post } from '../support/gateway.js';
import { Scrape } from '../support/metrics.js';
import { kill } from '../support/process.js';

const ready = async (url: string): Promise<number> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status,
    () => 0,
  );
const statusOf = async (url: string): Promise<number> =>
  (await post(url, chatBody({ max_tokens: 2 }))).status;
const droppedBy = async (url: string): Promise<number> =>
  (await Scrape.of(`${url}/metrics`)).sum('flinch_log_lines_dropped_total');

const health = z.object({ models: z.tuple([z.object({ score: z.object({ pid: z.number() }) })]) });

/** Rejects a promise that nobody waits for at SIGUSR2. */
const STRAY = "process.on('SIGUSR2', () => Promise.reject(new Error('stray')));";

describe.runIf(platform() === 'linux')('flinch serve', () => {
  let server: Running;
  let url = '';
  beforeAll(async () => {
    server = start(['serve', '--port', '0'], null, {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(STRAY)}`,
    });
    while (url === '') {
      await setTimeout(50);
      url = /http:\/\/[\d.:]+/.exec(server.stdout())?.[0] ?? '';
    }
  });
  afterAll(() => void server.child.kill('SIGKILL'));

  it.runIf(spawnSync('prlimit', ['--version']).status === 0)(
    'goes on when there are no descriptors for an engine process, and starts it once there are',
    async () => {
      const { models } = health.parse(await (await fetch(`${url}/healthz`)).json());
      const limit = (descriptors: number): void =>
        void execFileSync('prlimit', [`--pid=${server.child.pid}`, `--nofile=${descriptors}:`]);
      limit(8);
      kill(models[0].score.pid);
      await expect.poll(server.stderr).toMatch(/EMFILE.*engine process cannot be started/);
      limit(1024);
      await expect.poll(() => ready(url)).toBe(200);
      expect(await statusOf(url)).toBe(200);
    },
  );

  it('goes on after an error that nobody has caught', async () => {
    server.child.kill('SIGUSR2');
    await expect.poll(server.stderr).toMatch(/stray.*unhandled rejection/);
    expect(await statusOf(url)).toBe(200);
  });

  it('goes on when nobody reads its log any more, and counts the lines', async () => {
    expect(await droppedBy(url)).toBe(0);
    server.child.stderr?.destroy();
    for (let i = 0; i < 3; i++) expect(await statusOf(url)).toBe(200);
    await expect.poll(() => droppedBy(url)).toBeGreaterThanOrEqual(3);
  });

  it('serves when its output cannot be written at all', async () => {
    const full = openSync('/dev/full', 'w');
    const port = await freePort();
    const child = spawn(process.execPath, [CLI_ENTRY, 'serve', '--port', String(port)], {
      stdio: ['ignore', full, full],
    });
    closeSync(full);
    onTestFinished(() => void child.kill('SIGKILL'));
    const other = `http://127.0.0.1:${port}`;
    await expect.poll(() => ready(other)).toBe(200);
    for (let i = 0; i < 3; i++) expect(await statusOf(other)).toBe(200);
    expect(await droppedBy(other)).toBeGreaterThanOrEqual(3);
    expect((await fetch(`${other}/livez`)).status).toBe(200);
  });
});
