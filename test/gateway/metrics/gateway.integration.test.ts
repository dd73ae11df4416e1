import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useFolder } from '../../support/cli.js';
import { chatBody, post, type SocketEvent, TestSocket, useGateway } from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { Scrape } from '../../support/metrics.js';
import { kill } from '../../support/process.js';
import { endless, GUESSED_QUESTION } from '../../support/requests.js';

const folder = useFolder();
/** Of the steps of its answers some have scores above three quarters of these ordinary ones, some below. */
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015), { maxStreams: 2 });

const MODEL = { model: 'reasoner' };
const GEN_AI = {
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'flinch',
  gen_ai_request_model: 'reasoner',
};
/** Those of one pass. */
const METHODS = ['adversarial', 'nll', 'entropy', 'margin'];

const scores = z.object({
  scores: z.record(z.string(), z.number()),
  risk: z.record(z.string(), z.number()).optional(),
  skipped: z.array(z.string()).default([]),
});
const ending = z.object({
  finish_reason: z.string(),
  usage: z.looseObject({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    generated_tokens: z.number().optional(),
  }),
});

/** Replacements that were flagged, too: there is no event of it but their verdict. */
function flaggedAgain(rollbacks: readonly SocketEvent[], verdicts: readonly SocketEvent[]): number {
  const replaced = new Set(rollbacks.filter(({ outcome }) => outcome === 'replaced').map(({ step }) => step));
  return verdicts.filter(({ step, flagged }) => flagged === true && replaced.has(step)).length;
}

const scrape = (): Promise<Scrape> => Scrape.of(gateway.metricsUrl);

/** What a client heard of one answer over WebSocket, and what the metrics say since it was asked for. */
async function run(guard: object, changes: object = {}) {
  const before = await scrape();
  const socket = await TestSocket.open(gateway.url);
  socket.send({ type: 'generation.create', ...chatBody({ guard, ...changes }) });
  const last = await socket.event(({ type }) => type === 'generation.done' || type === 'error');
  socket.close();
  await gateway.idle();
  const after = await scrape();
  const of = (type: string): SocketEvent[] => socket.events.filter((event) => event.type === type);
  const counted = (name: string, labels = {}): number => after.since(before, name, { ...MODEL, ...labels });
  const genAi = (name: string, labels = {}): number => after.since(before, name, { ...GEN_AI, ...labels });
  return { of, counted, genAi, ...ending.parse(last) };
}

describe('what the metrics say of a guarded answer', () => {
  const messages = [{ role: 'user', content: GUESSED_QUESTION }];

  it('is what its client was told: tokens, scores, risks, steps', async () => {
    const { of, counted, genAi, usage, finish_reason } = await run({ rate: 0.5, methods: METHODS });
    const whole = of('score.delta').filter(({ pending }) => !pending);
    const scored = whole.map((event) => scores.parse(event));
    expect(scored).toHaveLength(usage.completion_tokens);
    expect(counted('flinch_scored_tokens_total')).toBe(scored.length);
    for (const method of METHODS) {
      const values = scored.flatMap((each) => each.scores[method] ?? []);
      const risks = scored.flatMap((each) => each.risk?.[method] ?? []);
      expect(values.length).toBeGreaterThan(0);
      expect(counted('flinch_token_score_count', { method })).toBe(values.length);
      expect(counted('flinch_token_score_sum', { method })).toBeCloseTo(values.reduce((a, b) => a + b, 0));
      expect(counted('flinch_token_risk_count', { method })).toBe(risks.length);
      const surprising = risks.filter((risk) => risk > 0.9).length;
      const below = counted('flinch_token_risk_bucket', { method, le: '0.9' });
      expect(risks.length - below).toBe(surprising);
    }
    const steps = of('step.done');
    const flagged = of('step.flagged').length;
    expect(flagged).toBeGreaterThan(0);
    expect(flagged).toBeLessThan(steps.length);
    expect(counted('flinch_steps_total', { action: 'annotate' })).toBe(steps.length);
    expect(counted('flinch_flagged_steps_total', { action: 'annotate' })).toBe(flagged);
    expect(counted('flinch_step_risk_count', { action: 'annotate' })).toBe(steps.length);
    expect(counted('flinch_generations_total', { outcome: finish_reason })).toBe(1);
    expect(counted('flinch_generated_tokens_total')).toBe(usage.completion_tokens);
    expect(genAi('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'input' })).toBe(usage.prompt_tokens);
    expect(genAi('gen_ai_client_token_usage_sum', { gen_ai_token_type: 'output' })).toBe(
      usage.completion_tokens,
    );
  });

  it('has its rollbacks by what became of them, and the tokens that were retracted', async () => {
    const rollback = {
      action: 'rollback',
      rate: 0.5,
      max_rollbacks: 3,
      candidates: 2,
    };
    const outcomes = { replaced: 0, kept: 0 };
    let retracted = 0;
    for (const seed of [1, 2, 3, 4, 5]) {
      const { of, counted, usage } = await run(rollback, { messages, temperature: 1, seed });
      for (const outcome of ['replaced', 'kept'] as const) {
        const heard = of('rollback.done').filter((event) => event.outcome === outcome).length;
        expect(counted('flinch_rollbacks_total', { outcome })).toBe(heard);
        outcomes[outcome] += heard;
      }
      const taken = of('token.retracted').reduce((sum, { tokens }) => sum + Number(tokens), 0);
      expect(counted('flinch_retracted_tokens_total')).toBe(taken);
      retracted += taken;
      expect(counted('flinch_generated_tokens_total')).toBe(
        usage.generated_tokens ?? usage.completion_tokens,
      );
      const replaced = of('rollback.done').filter(({ outcome }) => outcome === 'replaced').length;
      expect(counted('flinch_steps_total', { action: 'rollback' })).toBe(of('step.done').length + replaced);
      expect(counted('flinch_flagged_steps_total', { action: 'rollback' })).toBe(
        of('step.flagged').length + flaggedAgain(of('rollback.done'), of('step.done')),
      );
    }
    // Else nothing was compared.
    expect(outcomes.replaced).toBeGreaterThan(0);
    expect(retracted).toBeGreaterThan(0);
  });

  it('has what the guard removed, whether the client saw it or not', async () => {
    const rollback = {
      action: 'rollback',
      rate: 0.5,
      max_rollbacks: 3,
      candidates: 2,
    };
    for (const guard of [rollback, { action: 'stop', rate: 0.2 }]) {
      const sampling = { messages, temperature: 1, seed: 2 };
      const judged = { ...guard, method: 'adversarial' };
      const seen = await run({ ...judged, delivery: 'immediate' }, sampling);
      const held = await run({ ...judged, delivery: 'held' }, sampling);
      expect(held.of('score.delta').length).toBeLessThan(seen.of('score.delta').length);
      for (const name of ['scored_tokens', 'steps', 'flagged_steps', 'stops', 'rollbacks'])
        expect(held.counted(`flinch_${name}_total`), name).toBe(seen.counted(`flinch_${name}_total`));
      expect(held.counted('flinch_token_risk_count')).toBe(seen.counted('flinch_token_risk_count'));
      expect(held.counted('flinch_retracted_tokens_total')).toBe(0);
    }
  });

  it('has that the guard stopped it, and that it had it checked', async () => {
    const stopped = await run({ action: 'stop', rate: 0.999 });
    expect(stopped.finish_reason).toBe('content_filter');
    expect(stopped.counted('flinch_stops_total')).toBe(1);
    expect(stopped.counted('flinch_generations_total', { outcome: 'content_filter' })).toBe(1);
    expect(stopped.counted('flinch_steps_total', { action: 'stop' })).toBe(
      stopped.of('step.done').length + 1,
    );
  });
});

describe('what was not taken on', () => {
  const refusals = async (before: Scrape, reason: string): Promise<number> =>
    (await scrape()).since(before, 'flinch_admission_refusals_total', { ...MODEL, reason });

  it('is counted by the reason, and is no generation', async () => {
    const before = await scrape();
    const long = chatBody({ messages: [{ role: 'user', content: 'stone '.repeat(2000) }] });
    expect((await post(gateway.url, long)).status).toBe(400);
    expect(await refusals(before, 'context_length_exceeded')).toBe(1);
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...long });
    await socket.event(({ type }) => type === 'error');
    expect(await refusals(before, 'context_length_exceeded')).toBe(2);
    socket.close();
    // As many as the engine takes on; nobody reads them, so none ends.
    const { engine } = gateway;
    const unread = await Promise.all([1, 2].map(() => engine.generate(endless(engine))));
    expect((await post(gateway.url, chatBody())).status).toBe(503);
    expect(await refusals(before, 'overloaded')).toBe(1);
    for (const generation of unread) generation.cancel();
    const after = await scrape();
    expect(after.since(before, 'flinch_generations_total', { ...MODEL, outcome: 'error' })).toBe(0);
    expect(after.since(before, 'flinch_refused_requests_total', { code: 'context_length_exceeded' })).toBe(2);
  });
});

describe('the engine', () => {
  const engine = (read: Scrape, name: string, process: string) => read.sum(name, { ...MODEL, process });

  it('that is killed is started again, and what it wrote has failed', async () => {
    const before = await scrape();
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...chatBody({ max_tokens: 400, guard: { methods: METHODS } }) });
    await socket.event(({ type }) => type === 'token.delta');
    kill(gateway.engine.status().score.pid);
    const failed = await socket.event(({ type }) => type === 'error');
    expect(failed).toMatchObject({ error: { code: 'engine_crashed' } });
    await expect.poll(async () => engine(await scrape(), 'flinch_engine_up', 'score')).toBe(1);
    await gateway.idle();
    const after = await scrape();
    expect(engine(after, 'flinch_engine_restarts_total', 'score')).toBe(1);
    expect(engine(after, 'flinch_engine_restarts_total', 'decode')).toBe(0);
    expect(after.since(before, 'flinch_generations_total', { ...MODEL, outcome: 'error' })).toBe(1);
    const crashed = { ...GEN_AI, error_type: 'engine_crashed' };
    expect(after.sum('gen_ai_server_request_duration_seconds_count', crashed)).toBe(1);
    socket.close();
  });
});
