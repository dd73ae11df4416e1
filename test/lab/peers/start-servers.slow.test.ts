import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { recorded } from '#lab/peers/running.js';
import { startAll } from '#lab/peers/start-servers.js';
import { useFolder } from '../../support/cli.js';
import { fakeLlamaCpp, pretend } from '../../support/fake-peers.js';

const root = useFolder().path('peers');

it('ends what it has started where it is interrupted', async () => {
  vi.stubEnv('FLINCH_PEERS', root);
  await fakeLlamaCpp(root);
  await pretend(root, 'smollm2', 'never answers');
  const server = join(root, 'llama-cpp/llama-server');
  const never =
    "if (readFileSync(option('--model'), 'utf8') === 'never answers') setInterval(() => {}, 1000);\nelse ";
  writeFileSync(server, readFileSync(server, 'utf8').replace('createServer((', `${never}createServer((`));
  const interrupt = new AbortController();
  const basePort = (await freePort(2)) - 11;
  const failed = new Set<never>();
  const starting = startAll(['llama-cpp'], { root, basePort, signal: interrupt.signal, failed });
  const rejected = expect(starting).rejects.toThrow('interrupted');
  await expect.poll(() => recorded(root).map(({ model }) => model)).toEqual(['reasoner', 'smollm2']);
  const url = `http://127.0.0.1:${basePort + 11}/v1/models`;
  expect((await fetch(url)).ok).toBe(true);
  interrupt.abort(new Error('interrupted'));
  await rejected;
  await expect(fetch(url)).rejects.toThrow();
  expect(readdirSync(join(root, 'servers')).filter((name) => name.endsWith('.json'))).toEqual([]);
  vi.unstubAllEnvs();
});
