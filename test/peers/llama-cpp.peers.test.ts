import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needsServer, startServer } from '../support/peers.js';
import { streamed, upstreamGateway } from '../support/upstream-gateway.js';

// What only llama.cpp does; upstream.peers.test.ts has what it does as others do, recordings.peers.test.ts its answers.

const { missing, reason } = needsServer('llama-cpp', 'reasoner');

async function serving(args: readonly string[]) {
  const server = await startServer('llama-cpp', 'reasoner', ['--threads', '1', ...args]);
  onTestFinished(() => server.close());
  const config = { upstreams: [{ url: server.url, model: 'reasoner' }], retries: 0 };
  return { server, ...(await upstreamGateway([server.url], config)) };
}

const ask = (content: string) => [{ role: 'user', content }];

describe.skipIf(missing)(`llama.cpp${reason}`, () => {
  test('more streams than slots wait, and no longer than first_byte_s', async () => {
    const { url, server } = await serving(['--parallel', '2', '--ctx-size', '1024']);
    const question = { messages: ask('What is 12 + 30 - 5?'), temperature: 0 };
    const many = await Promise.all(Array.from({ length: 10 }, () => streamed(url, question)));
    for (const answer of many) expect(answer).toMatchObject({ text: many[0]!.text, done: true, error: null });
    const impatient = { first_byte_s: 1, idle_s: 60 };
    const hasty = await upstreamGateway([server.url], {
      upstreams: [{ url: server.url, model: 'reasoner' }],
      retries: 0,
      timeouts: impatient,
    });
    await streamed(hasty.url, question);
    server.signal('SIGSTOP');
    const late = streamed(hasty.url, question);
    await setTimeout(1500);
    server.signal('SIGCONT');
    expect(await late).toMatchObject({ status: 504, error: { code: 'upstream_timeout' } });
  });

  test('a cache that all slots share may be full in the middle of an answer: an error', async () => {
    const { url } = await serving(['--ctx-size', '256', '--kv-unified']);
    const long = (i: number) => ({
      messages: ask(`Alice lies. ${'Bob says Alice lies. '.repeat(4)}${i}`),
      temperature: 1,
      seed: i,
    });
    const answers = await Promise.all([1, 2, 3, 4].map((i) => streamed(url, long(i))));
    const failed = answers.filter(({ error }) => error);
    expect(failed.length).toBeGreaterThan(0);
    for (const { error, done } of failed) {
      expect(['upstream_error', 'upstream_refused']).toContain(error!.code);
      expect(done).toBe(false);
    }
  });
});
