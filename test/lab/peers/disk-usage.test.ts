import { linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { diskUsage } from '#lab/peers/disk-usage.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();

it('counts a file with two names once', async () => {
  mkdirSync(folder.path('a/b'), { recursive: true });
  writeFileSync(folder.path('a/b/one'), Buffer.alloc(100_000, 1));
  const before = await diskUsage(folder.path('a'));
  expect(before).toBeGreaterThanOrEqual(100_000);
  const entries = 512 * statSync(folder.path('a')).blocks;
  linkSync(folder.path('a/b/one'), folder.path('a/two'));
  const after = await diskUsage(folder.path('a'));
  expect(after - before).toBe(512 * statSync(folder.path('a')).blocks - entries);
});
