import { execFileSync } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { readRegularFile, readRegularFileSync, readsPending } from '#src/files/regular-file.js';

const folder = mkdtempSync(join(tmpdir(), 'flinch-regular-'));
afterAll(() => rmSync(folder, { recursive: true }));
const MOST = 100;

const ways = [
  ['in time', readRegularFile],
  ['at once', async (file: string, bytes: number) => readRegularFileSync(file, bytes)],
] as const;

describe.each(ways)('a regular file that is read %s', (_how, read) => {
  it('is a file, or a link to one, as mounted secrets are', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'ä'.repeat(MOST / 2));
    const links = ['data', 'key'].map((name) => join(folder, `${name}-${_how}`));
    symlinkSync(file, links[0]!);
    symlinkSync(links[0]!, links[1]!);
    for (const each of [file, ...links]) expect(await read(each, MOST)).toBe('ä'.repeat(MOST / 2));
  });

  it.skipIf(process.platform === 'win32')('is no pipe, folder or device, and not too large', async () => {
    const name = (what: string) => join(folder, `${what}-${_how}`);
    execFileSync('mkfifo', [name('pipe')]);
    mkdirSync(name('folder'));
    writeFileSync(name('large'), 'x'.repeat(MOST + 1));
    await expect(read(name('pipe'), MOST)).rejects.toThrow('is not a regular file');
    await expect(read('/dev/zero', MOST)).rejects.toThrow('is not a regular file');
    await expect(read(name('folder'), MOST)).rejects.toThrow('is a folder');
    await expect(read(name('large'), MOST)).rejects.toThrow('has more than 100 bytes');
    await expect(read(name('none'), MOST)).rejects.toThrow('ENOENT');
  });
});

it('is left where it does not come, and is not asked again until it has', async () => {
  const file = join(folder, 'waits');
  writeFileSync(file, 'here');
  // All threads that read files are busy.
  const hash = promisify(pbkdf2);
  const busy = Promise.all(Array.from({ length: 64 }, () => hash('x', 'y', 100_000, 64, 'sha512')));
  await expect(readRegularFile(file, MOST, 1)).rejects.toThrow('is not read within 0.001 s');
  await expect(readRegularFile(file, MOST)).rejects.toThrow('is not read within 10 s');
  expect(readsPending()).toBe(true);
  await busy;
  await expect.poll(readsPending).toBe(false);
  expect(await readRegularFile(file, MOST)).toBe('here');
});
