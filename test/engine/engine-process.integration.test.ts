import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { EngineError } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { freeze, isAlive, kill } from '../support/process.js';
import { scriptedProcess } from '../support/scripted-child.js';

const folder = useFolder();
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

/** Long for a process of one file to say something; short to wait for. */
const STALL_MS = 1500;

function start(stallMs?: number) {
  const started = scriptedProcess(folder.path(''), stallMs);
  open.push(started.process);
  return started;
}

describe('a process that stands', () => {
  it('is killed and started anew, and its streams are told', async () => {
    const started = start(STALL_MS);
    const failed: EngineError[] = [];
    await started.process.attach({
      receive: () => {},
      waits: () => true,
      fail: (error) => failed.push(error),
    });
    const { pid } = started.process;
    freeze(pid);
    await expect.poll(() => failed).toMatchObject([{ code: 'stalled' }]);
    expect(started.losses).toEqual([{ role: 'scripted', what: 'stalled', reason: 'no progress for 1.5 s' }]);
    await expect.poll(() => started.process.device).toBe('cpu');
    expect(started.process.pid).not.toBe(pid);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('before it has opened its model, too', async () => {
    const { process, losses, set } = start(STALL_MS);
    await process.ready();
    set('hang');
    kill(process.pid);
    await expect.poll(() => losses.map(({ what }) => what)).toContain('unavailable');
    expect(losses.at(-1)?.reason).toContain('could not be started: no progress for 1.5 s');
    set('ready');
    await expect.poll(() => process.device).toBe('cpu');
  });

  it('does not keep the engine from closing', async () => {
    const { process, set } = start();
    set('hang');
    const ready = process.ready().catch((error: EngineError) => error.code);
    await expect.poll(() => process.pid).toBeDefined();
    await process.close();
    expect(await ready).toBe('closed');
  });
});

describe('a process that cannot be started again', () => {
  it('is tried again without being asked for, and until then refuses at once', async () => {
    const { process, losses, set } = start();
    await process.ready();
    set('fail');
    kill(process.pid);
    await expect.poll(() => losses.filter(({ what }) => what === 'unavailable').length).toBeGreaterThan(1);
    expect(process.device).toBeUndefined();
    await expect(process.ready()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the scripted process could not be started (exit code 3)',
    });
    set('ready');
    await expect.poll(() => process.device).toBe('cpu');
    await process.ready();
  });

  it.each([
    ['for the system refuses it', '/nowhere'],
    ['for it cannot even be asked', 'no\0path'],
  ])('%s: neither an exception nor an unhandled rejection', async (_, execPath) => {
    const { process, losses } = start();
    await process.ready();
    const before = globalThis.process.execPath;
    globalThis.process.execPath = execPath;
    try {
      kill(process.pid);
      await expect.poll(() => losses.map(({ what }) => what)).toContain('unavailable');
    } finally {
      globalThis.process.execPath = before;
    }
    await expect.poll(() => process.device).toBe('cpu');
  });
});

describe('a process on CUDA', () => {
  it('runs without CUDA graphs where they fail, and says so', async () => {
    const { process, losses, set } = scriptedProcess(folder.path(''), undefined, ['cuda', 'cpu']);
    open.push(process);
    set('fail with graphs');
    await process.ready();
    expect(process.device).toBe('cuda');
    expect(losses).toEqual([{ role: 'scripted', what: 'graphs_lost', reason: '(exit code 3)' }]);
  });

  it('fails where both ways fail', async () => {
    const { process, losses, set } = scriptedProcess(folder.path(''), undefined, ['cuda', 'cpu']);
    open.push(process);
    set('fail');
    await expect(process.ready()).rejects.toMatchObject({ code: 'unavailable' });
    expect(losses.map(({ what }) => what)).toEqual(['unavailable']);
    set('ready');
    await process.ready();
    expect(process.device).toBe('cuda');
  });
});

it('does not outlive its parent, even if it hears of nothing', async () => {
  const link = new URL('../../dist/src/engine/child-link.js', import.meta.url).href;
  writeFileSync(folder.path('busy.mjs'), "process.send('busy', () => { for (;;); });");
  writeFileSync(
    folder.path('parent.mjs'),
    `import { ChildLink } from ${JSON.stringify(link)};
     const child = new ChildLink({
       entry: ${JSON.stringify(folder.path('busy.mjs'))},
       env: process.env,
       receive: () => {
         console.log(child.pid);
         process.exit(0);
       },
       ended: () => {},
     });`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [folder.path('parent.mjs')]);
  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(1);
  await expect.poll(() => isAlive(pid)).toBe(false);
});
