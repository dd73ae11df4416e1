import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { lab } from '../support/cli.js';

/** With the real uv and CMake, on a machine where nothing is set up. */
const uv = spawnSync('uv', ['--version']).status === 0;
const network = await fetch('https://pypi.org/simple/gguf/', { method: 'HEAD' }).then(
  ({ ok }) => ok,
  () => false,
);
const root = process.getuid?.() === 0 && process.platform === 'linux';
const missing = [!uv && 'no uv', !network && 'PyPI cannot be reached'].filter((text) => text !== false);
const reason = (...more: (string | false)[]): string => {
  const all = [...missing, ...more.filter((text) => text !== false)];
  return all.length > 0 ? ` (skipped: ${all.join(', ')})` : '';
};

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-up-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const up = (peer: string, env: NodeJS.ProcessEnv) => lab(['peers', 'up', peer], '', env);

describe('peers up', () => {
  test.skipIf(!uv)(`says that a package is gone${reason()}`, async () => {
    const index = createServer((_, response) => response.writeHead(404).end());
    const port = await freePort();
    await new Promise<void>((listening) => index.listen(port, '127.0.0.1', listening));
    onTestFinished(() => void index.close());
    const folder = emptyFolder();
    const env = {
      FLINCH_PEERS: folder,
      UV_CACHE_DIR: join(folder, 'cache'),
      UV_DEFAULT_INDEX: `http://127.0.0.1:${port}`,
    };
    const { code, stderr } = await up('smollm2', env);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /smollm2: uv pip install … failed.*not found in the package registry.*may be gone/s,
    );
    expect(existsSync(join(folder, 'environments'))).toBe(false);
  });

  test.skipIf(missing.length > 0)(`says that a build fails, and what it needs${reason()}`, async () => {
    const folder = emptyFolder();
    const { code, stderr } = await up('llama-cpp', { FLINCH_PEERS: folder, CC: 'false', CXX: 'false' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/llama-cpp: .*cmake -S .* failed.*A C and a C\+\+ compiler are needed/s);
    expect(existsSync(join(folder, 'llama-cpp'))).toBe(false);
    expect(existsSync(join(folder, 'environments/tools/bin/cmake'))).toBe(true);
    // The next run looks for a compiler again.
    expect(readdirSync(join(folder, 'builds/llama.cpp'))).toEqual([]);
  });

  test.skipIf(missing.length > 0 || !root)(
    `says that the disk is full, and continues when there is room${reason(!root && 'mounting needs root on Linux')}`,
    async () => {
      const folder = emptyFolder();
      const small = join(folder, 'small');
      mkdirSync(small);
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=60m', 'tmpfs', small], {
        encoding: 'utf8',
      });
      expect(mounted.stderr).toBe('');
      onTestFinished(() => void spawnSync('umount', [small]));
      const { code, stderr } = await up('smollm2', {
        FLINCH_PEERS: small,
        UV_CACHE_DIR: join(small, 'uv-cache'),
      });
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/disk is full.*FLINCH_PEERS/),
      });
      spawnSync('mount', ['-o', 'remount,size=2g', small]);
      const again = await up('smollm2', { FLINCH_PEERS: small, UV_CACHE_DIR: join(small, 'uv-cache') });
      expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('smollm2: ready') });
    },
  );
});
