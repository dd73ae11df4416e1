import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { lockDownloads } from '#src/files/folder-lock.js';
import { SOURCES, startScript, useFolder } from '../support/cli.js';

const folder = useFolder();
const module = new URL('../../src/files/folder-lock.ts', import.meta.url).href;

it('is kept by a process that lives, which the message names, and by none that was killed', async () => {
  const place = folder.path('model');
  mkdirSync(place);
  const script = folder.write(
    'hold.mjs',
    `import { lockDownloads } from '${module}';
await lockDownloads(${JSON.stringify(place)});
console.log('held');
setInterval(() => {}, 1000);`,
  );
  const { child, finished } = startScript(script, [], null, SOURCES);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  await expect(lockDownloads(place)).rejects.toThrow(
    `${place}: process ${child.pid} on ${hostname()} downloads there; wait for it or stop it`,
  );
  child.kill('SIGKILL');
  await finished;
  expect(existsSync(`${place}/.pull.lock`)).toBe(true);
  await (await lockDownloads(place))();
  expect(existsSync(`${place}/.pull.lock`)).toBe(false);
});
