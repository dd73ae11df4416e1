import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockFolder } from '#bench/run/run-lock.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
const fail = (error: Error): void => {
  throw error;
};

/** A folder as a process left it that was killed. */
function left(name: string, owner: string, locked = true): string {
  mkdirSync(join(folder.path(name), locked ? '.run.lock' : ''), { recursive: true });
  folder.write(`${name}/.run.owner.json`, owner);
  return folder.path(name);
}

const host = hostname();

describe('lockFolder', () => {
  it('is not kept by an older process of its own number, as in a container that begins anew', async () => {
    const path = left('own', JSON.stringify({ pid: process.pid, host, start: 'before' }));
    await (await lockFolder(path, fail))();
  });

  it.runIf(process.platform === 'linux')('knows a number that another process has by now', async () => {
    const path = left('reused', JSON.stringify({ pid: process.ppid, host, start: 'before' }));
    await (await lockFolder(path, fail))();
  });

  it.each([host, 'elsewhere'])(
    'minds a process of which no more than its number is known, on %s',
    async (on) => {
      const path = left(`lives-${on}`, JSON.stringify({ pid: process.ppid, host: on }));
      await expect(lockFolder(path, fail)).rejects.toThrow(`is in use by process ${process.ppid} on ${on}`);
    },
  );

  it('is taken over from a process that is gone', async () => {
    const none = 2 ** 22 + 1; // above all that there may be
    const path = left('gone', JSON.stringify({ pid: none, host }));
    await (await lockFolder(path, fail))();
    expect(existsSync(join(path, '.run.lock'))).toBe(false);
  });

  it('goes by the lock alone where its owner cannot be read', async () => {
    await (await lockFolder(left('empty', '', false), fail))();
    await expect(lockFolder(left('held', ''), fail)).rejects.toThrow('is in use by another process');
  });
});
