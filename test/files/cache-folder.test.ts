import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cacheFolder, isWritable } from '#src/files/cache-folder.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();
const file = folder.write('a-file', '');
const uid = process.getuid?.() ?? 'cache';

/** Makes an empty folder for temporary files. */
function useTemporary(name: string): string {
  const made = folder.path(name);
  mkdirSync(made);
  vi.stubEnv('TMPDIR', made);
  return made;
}

describe('cacheFolder', () => {
  beforeEach(() => void vi.stubEnv('XDG_CACHE_HOME', join(file, 'cache')));
  // The same process runs other tests.
  afterEach(() => void vi.unstubAllEnvs());

  it('is in the cache that can be made, and makes nothing', () => {
    vi.stubEnv('XDG_CACHE_HOME', folder.path('new/cache'));
    expect(cacheFolder('gguf', 'a')).toBe(folder.path('new/cache/flinch/gguf/a'));
    expect(isWritable(folder.path('new'))).toBe(true);
    expect(() => statSync(folder.path('new'))).toThrow('ENOENT');
  });

  it('is among temporary files that nobody else can write, if the cache cannot be written', () => {
    const temporary = useTemporary('temporary');
    expect(cacheFolder('gguf', 'a')).toBe(join(temporary, `flinch-${uid}/gguf/a`));
    expect(statSync(join(temporary, `flinch-${uid}`)).mode & 0o777).toBe(0o700);
  });

  it.skipIf(process.platform !== 'linux')('passes over a folder that others can write, or a link', () => {
    const open = join(useTemporary('open'), `flinch-${uid}`);
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect(cacheFolder('gguf')).toBe(`/dev/shm/flinch-${uid}/gguf`);
    symlinkSync(folder.path('open'), join(useTemporary('linked'), `flinch-${uid}`));
    expect(cacheFolder('gguf')).toBe(`/dev/shm/flinch-${uid}/gguf`);
  });
});
