import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import type { PeerModel } from '#lab/peers/folder.js';
import { checkpointOf } from '#lab/peers/folder.js';
import { Engine, type ScorerMismatchEvent } from '#src/index.js';
import { needsServer, startServer } from '../support/peers.js';
import { THINKING_TEMPLATE } from '../support/recordings.js';
import { said } from '../support/upstream-contract/said.js';
import { type StreamedChunk, streamed, upstreamGateway } from '../support/upstream-gateway.js';

// What only llama.cpp does; upstream.peers.test.ts has what it does as others do.

const { missing, reason } = needsServer('llama-cpp', 'smollm2');

const engines = new Map<PeerModel, Promise<Engine>>();
afterAll(async () => {
  for (const engine of engines.values()) await (await engine).close();
});

async function serving(model: PeerModel, args: readonly string[], scored: boolean, changes: object = {}) {
  const server = await startServer('llama-cpp', model, ['--threads', '1', ...args]);
  onTestFinished(() => server.close());
  const mismatches: ScorerMismatchEvent[] = [];
  const engine = engines.get(model) ?? Engine.open(checkpointOf(model));
  if (scored) engines.set(model, engine);
  const logger = pino({ level: 'silent' });
  const onMismatch = (mismatch: ScorerMismatchEvent): void => void mismatches.push(mismatch);
  const scorer = scored ? await Scorer.open(await engine, { logger, onMismatch }) : null;
  const config = { upstreams: [{ url: server.url, model }], retries: 0, ...changes };
  const { url, status } = await upstreamGateway([server.url], config, { ...(scorer && { scorer }) });
  const direct = async (body: object) => {
    const asked = { stream: true, logprobs: true, top_logprobs: 1, ...body };
    const response = await fetch(`${server.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(asked),
    });
    return said(await response.text());
  };
  return { server, url, status, direct, mismatches };
}

const ask = (content: string) => [{ role: 'user', content }];
/** Of deltas, each token once: its scores may come with it or later. */
const tokensOf = (chunks: readonly StreamedChunk[]) => {
  const tokens = chunks.flatMap(({ flinch }) => flinch?.tokens ?? []);
  return tokens.filter(({ index }, i) => tokens.findIndex((token) => token.index === index) === i);
};

describe.skipIf(missing)(`llama.cpp${reason}`, () => {
  const ANIMALS = { messages: ask('Write only this emoji: 🦙'), temperature: 0, max_tokens: 24 };

  test('a character of several tokens has no log-probability without a scorer', async () => {
    const { url, direct } = await serving('smollm2', [], false);
    const expected = await direct(ANIMALS);
    const { text, chunks, error } = await streamed(url, ANIMALS);
    expect({ text, error }).toEqual({ text: expected.text, error: null });
    const characters = tokensOf(chunks).filter((token) => token.text === '🦙');
    expect(characters.length).toBeGreaterThan(3);
    expect(characters.every(({ logprob }) => logprob === null)).toBe(true);
  });

  test('with a scorer it is all of its tokens', async () => {
    const { url, mismatches } = await serving('smollm2', [], true);
    const { text, chunks, error } = await streamed(url, { ...ANIMALS, guard: { methods: ['nll'] } });
    expect(error).toBeNull();
    const tokens = tokensOf(chunks);
    expect(tokens.map((token) => token.text).join('')).toBe(text);
    expect(tokens.filter((token) => token.text === '🦙').length).toBeGreaterThan(3);
    expect(tokens.length).toBe(24);
    expect(mismatches).toEqual([]);
  });

  test('what a stop string might have begun is scored', async () => {
    const { url, direct, mismatches } = await serving('reasoner', [], true);
    const question = { messages: ask('What is 12 + 30 - 5?'), temperature: 0, max_tokens: 48 };
    const { text } = await direct(question);
    const begins = text.indexOf('12');
    expect(begins).toBeGreaterThan(0);
    const answer = await streamed(url, { ...question, stop: [`${text.slice(begins - 9, begins + 2)}!`] });
    expect(answer).toMatchObject({ text, done: true, error: null });
    expect(mismatches).toEqual([]);
  });

  const THOUGHTS = [
    ...[2, 4].flatMap((n) => [
      ...ask(`What is ${n} + ${n}?`),
      {
        role: 'assistant',
        content: `<think>\n${n} + ${n} is ${2 * n}.\n</think>\n\nThe answer is ${2 * n}.`,
      },
    ]),
    ...ask('What is 3 + 3?'),
  ];

  test('reasoning that it keeps apart: text is scored by its log-probabilities, and by no scorer', async () => {
    const args = ['--chat-template-file', THINKING_TEMPLATE];
    const thinking = { messages: THOUGHTS, temperature: 0, max_tokens: 40 };
    const { url, direct } = await serving('smollm2', args, false);
    const { text, chunks, error } = await streamed(url, thinking);
    expect(error).toBeNull();
    expect(text).toBe((await direct(thinking)).text);
    expect(text).not.toContain('<think>');
    const tokens = tokensOf(chunks);
    expect(tokens.length).toBeGreaterThan(3);
    expect(tokens.every(({ logprob }) => logprob !== null)).toBe(true);
    const scored = await serving('smollm2', args, true);
    const apart = await streamed(scored.url, { ...thinking, guard: { methods: ['nll'] } });
    expect(apart).toMatchObject({ done: true, error: null, text });
    const whole = await serving('smollm2', [...args, '--reasoning-format', 'none'], true);
    const answer = await streamed(whole.url, { ...thinking, guard: { methods: ['nll'] } });
    expect(answer).toMatchObject({ done: true, error: null });
    expect(answer.text).toContain('</think>');
  });

  test('more streams than slots wait, and no longer than first_byte_s', async () => {
    const { url, server } = await serving('reasoner', ['--parallel', '2', '--ctx-size', '1024'], false);
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
    const { url } = await serving('reasoner', ['--ctx-size', '256', '--kv-unified'], false);
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
