import { afterEach, describe, expect, it, vi } from 'vitest';
import { DATA_SETS } from '#bench/data/data-catalogue.js';
import { pull } from '#bench/data/data-pull.js';
import { Endpoint } from '#bench/judge/endpoint.js';
import { findSource } from '#lab/peers/source.js';
import { useFolder } from '../support/cli.js';
import { BUFFERED, Endless } from '../support/endless.js';
import { FileServer } from '../support/file-server.js';
import { memoryCache } from '../support/judge-server.js';
import { sources } from '../support/sources.js';

const server = new FileServer(Buffer.alloc(0));
const url = await server.listen();
const folder = useFolder();
const MIB = 1 << 20;
afterEach(() => vi.unstubAllEnvs());

/** What a request to a server says that answers without an end, and how much it takes. */
async function asking(request: () => Promise<unknown>, status = 200): Promise<[string, number]> {
  const endless = new Endless();
  server.instead.push(endless.answer(status, { 'content-type': 'application/json' }));
  const problem = await request().then(
    () => 'none',
    (error: Error) => error.message,
  );
  server.instead.length = 0;
  await expect.poll(() => endless.hungUp).toBe(1);
  return [problem, endless.bytes];
}

describe('an answer without an end', () => {
  it('of a judge', async () => {
    const settings = { model: 'judge', apiKey: null, timeoutMs: 60_000, retries: 0 };
    const endpoint = new Endpoint({ baseUrl: url, ...settings }, memoryCache());
    const [problem, bytes] = await asking(() => endpoint.text('?'));
    expect(problem).toContain('the body has more than 16777216 bytes');
    expect(bytes).toBeLessThan(16 * MIB + BUFFERED);
  });

  it.each([
    [200, 32, /the body has more than 33554432 bytes/],
    [404, 0, /the server answered 404/],
  ])('of a package index, with status %i', async (status, mebibytes, words) => {
    vi.stubEnv('UV_DEFAULT_INDEX', url);
    const [problem, bytes] = await asking(
      () => findSource('project', 'file', new AbortController().signal),
      status,
    );
    expect(problem).toMatch(words);
    expect(bytes).toBeLessThan(mebibytes * MIB + BUFFERED);
  });

  it.each([
    ['of a known size', 'gsm8k', 761_421],
    ['of none', 'factscore', 64 * MIB],
  ])('of a mirror, for a file %s', async (_, suite, most) => {
    const set = DATA_SETS.find((each) => each.suite === suite)!;
    const place = folder.path(suite);
    const [problem, bytes] = await asking(() => pull(set, { folder: place, baseUrl: url, retries: 0 }));
    expect(problem).toContain(`the server sends more than ${most} bytes`);
    expect(bytes).toBeLessThan(most + BUFFERED);
  });
});

it('is read by nobody without a limit', () => {
  const unlimited = sources('src', 'cli', 'bench/src', 'lab/src', 'client', 'web').filter(({ text }) =>
    /(?<!z)\.(json|text|arrayBuffer|bytes|blob)\(\)|stream\/consumers/.test(text),
  );
  expect(unlimited.map(({ file }) => file)).toEqual([
    'cli/calibrate/calibrate-prompts.ts', // standard input
    'cli/chat/chat.ts', // standard input
    'cli/serve/is-alive.ts', // limited by its agent
    'src/files/regular-file.ts', // so many bytes of a file
  ]);
});
