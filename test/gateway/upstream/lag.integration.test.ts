import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { GatewayOptions } from '#gateway/index.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import type { Engine } from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { post } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { Scrape } from '../../support/metrics.js';
import { freeze } from '../../support/process.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { openShared } from '../../support/shared-engines.js';
import { isProbe } from '../../support/upstream-doubles.js';
import { body, type StreamedChunk, streamed, upstreamGateway } from '../../support/upstream-gateway.js';

const TOKENS = 240;
const LAG = 32;
const METHODS = ['adversarial', 'nll', 'entropy', 'margin'];

const tokenEvent = z.object({
  index: z.number(),
  text: z.string(),
  scores: z.record(z.string(), z.number()).optional(),
  skipped: z.array(z.string()).optional(),
  reason: z.string().optional(),
});
type Token = z.output<typeof tokenEvent>;
const stepEvent = z.looseObject({
  type: z.literal('step.done'),
  from: z.number(),
  to: z.number(),
  score: z.number().nullable(),
  risk: z.number().nullable(),
  flagged: z.boolean(),
  unscored: z.number().optional(),
});
const folder = useFolder();

/** Digits, all at once: no scorer is as fast. Those of one line in two are doubtful to the server, if it tells so. */
const burst =
  (tells = true): Script =>
  (request, reply) => {
    reply.head();
    const tokens = isProbe(request) ? 2 : TOKENS;
    for (let i = 0; i < tokens; i++) {
      const token = i % 20 === 19 ? '\n' : String((7 * i) % 10);
      const logprob = Math.floor(i / 20) % 2 === 0 ? -0.01 : -2;
      const told = { token, bytes: [...Buffer.from(token)], logprob };
      const logprobs = tells ? { content: [{ ...told, top_logprobs: [told] }] } : null;
      reply.data({ choices: [{ index: 0, delta: { content: token }, logprobs, finish_reason: null }] });
    }
    reply.data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    reply.last();
  };

describe('a scorer that is slower than the upstream', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await openShared(await calibratedReasoner(folder.path('scorer'), 0.00015));
  });
  afterAll(() => engine.close());

  async function serving(tells = true, config: GatewayOptions['config'] = {}) {
    const scorer = await Scorer.open(engine, { logger: pino({ level: 'silent' }) });
    const upstream = await scriptedUpstream(burst(tells));
    return upstreamGateway([upstream.url], {}, { scorer }, config);
  }

  /** Of the stream in its order: what each chunk says of a token, and the steps. */
  async function answer(url: string, guard: object, heard?: (chunk: StreamedChunk) => void) {
    const { status, chunks, done } = await streamed(url, { guard: { methods: METHODS, ...guard } }, heard);
    expect({ status, done }).toEqual({ status: 200, done: true });
    const told: Token[] = chunks.flatMap(({ flinch }) => z.array(tokenEvent).parse(flinch?.tokens ?? []));
    const events = chunks.flatMap(({ flinch }) => flinch?.events ?? []);
    const steps = events.flatMap((event) => stepEvent.safeParse(event).data ?? []);
    const fates = new Map(told.filter(({ scores }) => scores).map((token) => [token.index, token]));
    return { told, steps, fates, guard: chunks[0]?.flinch?.guard };
  }

  it('passes over whole blocks, says so of each token and step, and leaves the other scores as they are', async () => {
    const { url } = await serving();
    const wait = await answer(url, { lag: 'wait' });
    const skip = await answer(url, {});
    expect([wait.guard, skip.guard]).toMatchObject([{ lag: 'wait' }, { lag: 'skip' }]);
    const text = (tokens: readonly Token[]): string =>
      tokens.flatMap((token) => (token.scores ? [] : [token.text])).join('');
    expect(text(skip.told)).toBe(text(wait.told));
    expect([...wait.fates.values()].filter(({ reason }) => reason)).toEqual([]);

    // Every token is scored or passed over, once.
    const count = text(skip.told).length;
    expect(skip.told.filter(({ scores }) => scores)).toHaveLength(count);
    expect([...skip.fates.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
    const passed = [...skip.fates.values()].filter(({ reason }) => reason === 'lag');
    for (const { scores, skipped } of passed)
      expect({ scores, skipped }).toEqual({ scores: {}, skipped: METHODS });
    expect(passed.length).toBeGreaterThan(count / 2);

    const scored = [...skip.fates.values()].filter(({ reason }) => reason === undefined);
    expect(scored.length).toBeGreaterThanOrEqual(LAG - 8);
    for (const { index, scores } of scored) {
      for (const method of METHODS) {
        const expected = wait.fates.get(index)!.scores![method]!;
        expect(Math.abs(scores![method]! - expected), `${method} of ${index}`).toBeLessThan(2e-5);
      }
    }

    const isPassed = (index: number): boolean => skip.fates.get(index)!.reason === 'lag';
    expect(skip.steps).toHaveLength(wait.steps.length);
    for (const { from, to, unscored = 0, score, risk } of skip.steps) {
      const lacking = Array.from({ length: to - from }, (_, i) => from + i).filter(isPassed).length;
      expect(unscored).toBe(lacking);
      if (lacking === to - from) expect({ score, risk }).toEqual({ score: null, risk: null });
    }
    const metrics = await Scrape.of(`${url}/metrics`);
    expect(metrics.sum('flinch_lag_skipped_tokens_total', { model: 'm' })).toBe(passed.length);
    expect(metrics.sum('flinch_scored_tokens_total', { model: 'm' })).toBe(scored.length + count);
  });

  it('sends the text before the scores, and scores what the server doubts', async () => {
    const { url } = await serving();
    const { pid } = engine.status().score;
    let texts = 0;
    const { fates } = await answer(url, {}, ({ flinch }) => {
      // From the first text on the scorer stands still. If a text waited for it, the stream would not end.
      if (texts === 0) freeze(pid);
      texts += flinch?.tokens.filter(({ scores }) => !scores).length ?? 0;
      if (texts === TOKENS) freeze(pid, 'SIGCONT');
    });
    expect(texts).toBe(TOKENS);
    const scored = [...fates.values()].filter(({ index, reason }) => !reason && index >= 20);
    const doubted = scored.filter(({ index }) => Math.floor(index / 20) % 2 === 1);
    expect(doubted.length).toBeGreaterThan(0.7 * scored.length);
  });

  it('is waited for where steps wait for their verdict', async () => {
    const { url } = await serving();
    const { guard, fates } = await answer(url, { delivery: 'held' });
    expect(guard).toMatchObject({ lag: 'wait' });
    expect([...fates.values()].some(({ reason }) => reason)).toBe(false);
  });

  it.each([
    [{ delivery: 'held' }, 'guard.lag: skip is not possible with held delivery, which waits for the scores'],
    [
      { action: 'rollback' },
      'guard.lag: skip is not possible with action rollback, which waits for the scores',
    ],
  ])('refuses skip with %j', async (guard, message) => {
    const { url } = await serving();
    const response = await post(url, body({ guard: { ...guard, lag: 'skip' } }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: 'guard.lag', message } });
  });

  const locked = { guard: { locked: ['enabled'] } } as const;

  it('is waited for where a policy refuses text without a score', async () => {
    const { url } = await serving(false, locked);
    const { told, guard } = await answer(url, {});
    expect(guard).toMatchObject({ lag: 'wait', policy: 'gateway' });
    expect(told.filter(({ skipped }) => skipped?.includes('nll'))).toEqual([]);
  });

  it('ends a response that is not to wait for it there, before the first token without a score', async () => {
    const { url } = await serving(false, locked);
    const { done, error, chunks } = await streamed(url, { guard: { methods: METHODS, lag: 'skip' } });
    expect({ done, error }).toMatchObject({ done: false, error: { code: 'unscored' } });
    const told = chunks.flatMap(({ flinch }) => z.array(tokenEvent).parse(flinch?.tokens ?? []));
    const scored = new Set(told.flatMap(({ index, scores }) => (scores?.nll === undefined ? [] : [index])));
    expect(told.filter(({ index }) => !scored.has(index))).toEqual([]);
  });

  it('ends a response there once it disagrees with the server', async () => {
    const { url } = await serving(true, locked);
    const { done, error } = await streamed(url);
    expect({ done, error }).toMatchObject({ done: false, error: { code: 'unscored' } });
    expect(error?.message).toContain('scorer_mismatch');
    const refused = await streamed(url);
    expect(refused).toMatchObject({ status: 403, error: { code: 'unscored' } });
  });
});
