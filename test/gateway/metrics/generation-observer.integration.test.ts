import { beforeEach, describe, expect, it } from 'vitest';
import { Models } from '#gateway/index.js';
import { GenerationObserver, type Observed } from '#gateway/metrics/generation-observer.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import type { GuardEvent, Rating } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../../support/events.js';
import { Scrape } from '../../support/metrics.js';

const rating: Rating = { method: 'adversarial', score: 0.1, risk: 0.97, calibrated: true };
const span = (step: number) => ({ step, from: 10 * step, to: 10 * step + 10, text: '' });
const stepDone = (step: number, changes: Partial<Extract<GuardEvent, { type: 'step.done' }>> = {}) =>
  ({ type: 'step.done', ...span(step), ...rating, flagged: false, ...changes }) as const;
const flagged = (step: number, action: 'annotate' | 'stop' | 'rollback') =>
  ({ type: 'step.flagged', ...span(step), ...rating, action }) as const;
const rollbackDone = (step: number, outcome: 'replaced' | 'kept') =>
  ({ type: 'rollback.done', rollback: 0, step, outcome, chosen: 0, candidates: [] }) as const;

let metrics: Metrics;
/** Milliseconds, by the clock of the observer. */
let now: number;

beforeEach(() => {
  metrics = new Metrics();
  now = 5000;
  metrics.watch({
    models: new Models([{ name: 'm', status: () => ({ ready: true }), source: () => Promise.reject() }]),
    generations: () => 0,
    connections: () => ({ http: 0, websocket: 0 }),
  });
});

function observer(changes: Partial<Observed> = {}): GenerationObserver {
  const observed: Observed = {
    responseId: 'resp-1',
    beganMs: now,
    method: 'nll',
    action: 'rollback',
    held: false,
    scored: true,
    ...changes,
  };
  return new GenerationObserver(metrics.of('m'), observed, { now: () => now, date: () => 1_700_000_000_000 });
}

function tell(to: GenerationObserver, ...events: readonly (GuardEvent | number)[]): void {
  for (const event of events) {
    if (typeof event === 'number') now += event;
    else to.event(event);
  }
}

const scrape = async (): Promise<Scrape> => new Scrape(await metrics.text());
const openMetrics = (): Promise<string> => metrics.text('openMetrics');

describe('the times of a generation', () => {
  it('are counted from when it was taken on', async () => {
    const done: GuardEvent = {
      ...doneEvent('length', 3),
      usage: { promptTokens: 20, completionTokens: 3, generatedTokens: 11 },
    };
    tell(observer(), 250, tokenEvent(0), 100, tokenEvent(1), 100, tokenEvent(2), 50, done);
    const read = await scrape();
    const labels = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: 'flinch',
      gen_ai_request_model: 'm',
    };
    const times = (name: string) => read.sum(`gen_ai_server_${name}_seconds_sum`, labels);
    expect(times('time_to_first_token')).toBeCloseTo(0.25);
    expect(times('request_duration')).toBeCloseTo(0.5);
    expect(times('time_per_output_token')).toBeCloseTo(0.125);
    const usage = (type: string) =>
      read.sum('gen_ai_client_token_usage_sum', { ...labels, gen_ai_token_type: type });
    expect([usage('input'), usage('output')]).toEqual([20, 3]);
    expect(read.sum('flinch_generated_tokens_total', { model: 'm' })).toBe(11);
    expect(read.sum('flinch_generations_total')).toBe(1);
    expect(read.sum('flinch_generations_total', { model: 'm', outcome: 'length' })).toBe(1);
  });

  it('have none per token where there is but one', async () => {
    tell(observer(), tokenEvent(0), 10, doneEvent('stop', 1));
    expect((await scrape()).sum('gen_ai_server_time_per_output_token_seconds_count')).toBe(0);
  });

  it('have the code of what it failed with, and no usage', async () => {
    const failing = observer();
    tell(failing, 10, tokenEvent(0), 10);
    failing.failed('engine_crashed');
    failing.cancelled(); // what is over is over
    const read = await scrape();
    const code = { error_type: 'engine_crashed' };
    expect(read.sum('gen_ai_server_request_duration_seconds_sum', code)).toBeCloseTo(0.02);
    expect(read.sum('gen_ai_server_request_duration_seconds_count')).toBe(1);
    expect(read.sum('gen_ai_client_token_usage_count')).toBe(0);
    expect(read.sum('flinch_generations_total', { outcome: 'error' })).toBe(1);
    expect(read.sum('flinch_generations_total')).toBe(1);
  });

  it('are all that is counted of a further answer', async () => {
    for (const further of [false, true])
      tell(
        observer({ further }),
        tokenEvent(0),
        scoreEvent(0, { scores: { nll: 1 } }),
        stepDone(0),
        doneEvent('stop', 1),
      );
    const read = await scrape();
    expect(read.sum('flinch_generations_total')).toBe(2);
    expect(read.sum('flinch_steps_total')).toBe(1);
  });

  it('do not count what was cancelled, which is not slow', async () => {
    const left = observer();
    tell(left, 10, tokenEvent(0));
    left.cancelled();
    const read = await scrape();
    expect(read.sum('gen_ai_server_request_duration_seconds_count')).toBe(0);
    expect(read.sum('flinch_generations_total', { outcome: 'cancelled' })).toBe(1);
    expect(read.sum('flinch_generations_total')).toBe(1);
  });

  it('say which response they are of', async () => {
    tell(observer({ responseId: 'resp-slow' }), 3000, tokenEvent(0), 100, tokenEvent(1), stepDone(0));
    tell(observer({ responseId: 'resp-done' }), 20, tokenEvent(0), 7000, tokenEvent(1), doneEvent('stop', 2));
    const text = await openMetrics();
    const exemplars = [
      ...text.matchAll(/^(\w+)_bucket\{.*le="(.*)"\} \d+ # \{response_id="(.*)"\} (\S+) (\S+)$/gm),
    ];
    expect(exemplars.map(([, ...found]) => found).sort()).toEqual([
      ['flinch_step_risk', '0.98', 'resp-slow', '0.97', '1700000000.000'],
      ['gen_ai_server_request_duration_seconds', '10.24', 'resp-done', '7.02', '1700000000.000'],
      ['gen_ai_server_time_per_output_token_seconds', '+Inf', 'resp-done', '7', '1700000000.000'],
      ['gen_ai_server_time_to_first_token_seconds', '0.02', 'resp-done', '0.02', '1700000000.000'],
      ['gen_ai_server_time_to_first_token_seconds', '5', 'resp-slow', '3', '1700000000.000'],
    ]);
  });
});

describe('the scores of tokens', () => {
  const scored = (index: number) => scoreEvent(index, { scores: { adversarial: 1e-3, nll: 2 } });

  it('are counted by method, with what nobody can tell', async () => {
    const events = [
      scoreEvent(0, { scores: { adversarial: 2e-3, nll: 2 }, risk: { adversarial: 0.93 } }),
      scoreEvent(1, { scores: { nll: 0.5 } }),
      scoreEvent(2, { missing: ['nll'] }),
    ];
    tell(observer(), tokenEvent(0), tokenEvent(1), tokenEvent(2), ...events);
    const read = await scrape();
    const adversarial = { model: 'm', method: 'adversarial' };
    const nll = { model: 'm', method: 'nll' };
    expect(read.sum('flinch_scored_tokens_total', { model: 'm' })).toBe(2);
    expect(read.sum('flinch_token_score_sum', adversarial)).toBe(2e-3);
    expect(read.sum('flinch_token_score_bucket', { ...adversarial, le: '0.003' })).toBe(1);
    expect(read.sum('flinch_token_score_bucket', { ...adversarial, le: '0.001' })).toBe(0);
    expect(read.sum('flinch_token_score_sum', nll)).toBe(2.5);
    expect(read.sum('flinch_token_risk_count')).toBe(1);
    expect(read.sum('flinch_token_risk_sum', adversarial)).toBe(0.93);
    expect(read.sum('flinch_unscored_tokens_total', nll)).toBe(1);
    expect(read.sum('flinch_unscored_tokens_total')).toBe(1);
  });

  it('have no distribution where they are final: that is another scale', async () => {
    tell(observer(), tokenEvent(0), { ...scored(0), pass: 'final' });
    const read = await scrape();
    expect(read.sum('flinch_scored_tokens_total')).toBe(1);
    expect(read.series.some(({ name }) => name === 'flinch_token_score_count')).toBe(false);
  });

  it('leave the sum finite, whatever a server says that they are', async () => {
    const huge = { scores: { adversarial: 1e308, nll: 2 } };
    tell(observer(), tokenEvent(0), scoreEvent(0, huge), tokenEvent(1), scoreEvent(1, huge));
    const read = await scrape();
    expect(read.sum('flinch_token_score_sum', { method: 'adversarial' })).toBe(2000);
    expect(read.sum('flinch_token_score_count', { method: 'adversarial' })).toBe(2);
  });

  it('lag behind by tokens and by seconds', async () => {
    const guarded = observer();
    tell(guarded, tokenEvent(0), 100, tokenEvent(1), 100, tokenEvent(2), 300);
    tell(guarded, scored(0), scored(1), scored(2));
    const read = await scrape();
    expect(read.sum('flinch_scoring_lag_tokens_sum', { model: 'm' })).toBe(2 + 1 + 0);
    expect(read.sum('flinch_scoring_lag_seconds_sum', { model: 'm' })).toBeCloseTo(0.5 + 0.4 + 0.3);
    expect(read.sum('flinch_scoring_lag_tokens_count')).toBe(3);
  });

  it('do not lag where they come before a token that waits', async () => {
    tell(observer(), tokenEvent(0), 100, scored(0), scored(1), tokenEvent(1));
    const read = await scrape();
    expect(read.sum('flinch_scoring_lag_tokens_sum')).toBe(0);
    expect(read.sum('flinch_scoring_lag_seconds_sum')).toBeCloseTo(0.1);
  });

  it('are counted once where all of them follow the first, which have the lag', async () => {
    const first = { scores: { nll: 2 }, pending: ['adversarial'] } as const;
    tell(observer(), tokenEvent(0), 100, scoreEvent(0, first));
    const guarded = observer();
    tell(guarded, tokenEvent(0), 100, scoreEvent(0, first), tokenEvent(1), 900);
    tell(guarded, scoreEvent(0, { scores: { adversarial: 1, nll: 2 } }));
    const read = await scrape();
    expect(read.sum('flinch_scored_tokens_total')).toBe(2);
    expect(read.sum('flinch_token_score_count', { method: 'nll' })).toBe(2);
    expect(read.sum('flinch_token_score_count', { method: 'adversarial' })).toBe(1);
    expect(read.sum('flinch_scoring_lag_seconds_count')).toBe(2);
    expect(read.sum('flinch_scoring_lag_seconds_sum')).toBeCloseTo(0.2);
  });

  it('time a token by the end of the text, not by the scores that follow', async () => {
    const { type: _, ...end } = doneEvent('stop', 2);
    tell(
      observer(),
      tokenEvent(0),
      100,
      tokenEvent(1),
      { ...end, type: 'text.done' },
      5000,
      doneEvent('stop', 2),
    );
    expect((await scrape()).sum('gen_ai_server_time_per_output_token_seconds_sum')).toBeCloseTo(0.1);
  });

  it('lag behind the tokens that took the place of others', async () => {
    const guarded = observer();
    tell(guarded, tokenEvent(0), tokenEvent(1), tokenEvent(2), 1000);
    tell(guarded, { type: 'token.retracted', from: 1, tokens: 2 }, tokenEvent(1), 200, scored(1));
    const read = await scrape();
    expect(read.sum('flinch_scoring_lag_tokens_sum')).toBe(0);
    expect(read.sum('flinch_scoring_lag_seconds_sum')).toBeCloseTo(0.2);
    expect(read.sum('flinch_retracted_tokens_total', { model: 'm' })).toBe(2);
  });

  it('have no lag where tokens wait for them; steps say how long they were held', async () => {
    const held = observer({ held: true });
    tell(held, 100);
    for (const index of [0, 1]) held.written(tokenEvent(index));
    held.written(scored(0));
    tell(held, 600, tokenEvent(0), scored(0), stepDone(0, { held: { tokens: 4, ms: 650 } }), 10);
    tell(held, tokenEvent(1), doneEvent('stop', 2));
    const read = await scrape();
    expect(read.sum('flinch_scored_tokens_total')).toBe(1);
    expect(read.sum('flinch_scoring_lag_tokens_count')).toBe(0);
    expect(read.sum('flinch_step_hold_seconds_sum', { model: 'm' })).toBe(0.65);
    expect(read.sum('gen_ai_server_time_to_first_token_seconds_sum')).toBeCloseTo(0.7);
    // Not by the time between releases.
    expect(read.sum('gen_ai_server_time_per_output_token_seconds_sum')).toBeCloseTo(0.61);
  });
});

describe('rivals', () => {
  it('count where they are likely', async () => {
    const rival = (before: number) => ({ id: 1, before, after: 2 * before });
    tell(
      observer(),
      ...[tokenEvent(0), scoreEvent(0, { scores: { adversarial: 1 }, rival: rival(0.3) })],
      ...[tokenEvent(1), scoreEvent(1, { scores: { adversarial: 1 }, rival: rival(0.01) })],
    );
    const read = await scrape();
    expect(read.sum('flinch_rivals_total', { model: 'm' })).toBe(1);
  });
});

describe('the verdicts on whole responses', () => {
  it('are counted by what they say, once each', async () => {
    const verdict = {
      flagged: true,
      risk: 0.99,
      rate: 0.02,
      flaggedSteps: 1,
      steps: 2,
      unscoredTokens: 0,
      calibrated: true,
      reason: null,
    } as const;
    tell(observer(), { ...doneEvent('stop', 2), verdict });
    tell(observer(), { ...doneEvent('stop', 2), verdict: { ...verdict, flagged: false } });
    tell(observer(), { ...doneEvent('stop', 2), verdict: { ...verdict, flagged: null } });
    tell(observer(), { ...doneEvent('stop', 2), verdict: { ...verdict, flagged: null } });
    tell(observer(), doneEvent('stop', 2));
    const read = await scrape();
    const counts = ['true', 'false', 'unknown'].map((flagged) =>
      read.sum('flinch_verdicts_total', { model: 'm', flagged }),
    );
    expect(counts).toEqual([1, 1, 2]);
    expect(read.sum('flinch_verdicts_total')).toBe(4);
    expect(read.series.some(({ name }) => name === 'flinch_calibration_drift')).toBe(false);
  });

  it('tells how far answers have moved from the calibration', async () => {
    const verdict = (rank: number) =>
      ({
        flagged: false,
        risk: 0.5,
        rate: 0.02,
        flaggedSteps: 0,
        steps: 2,
        unscoredTokens: 0,
        calibrated: true,
        reason: null,
        rank,
      }) as const;
    const drift = async (method = 'nll') =>
      (await scrape()).sum('flinch_calibration_drift', { model: 'm', method });
    const annotated = (rank: number) =>
      tell(observer({ action: 'annotate' }), { ...doneEvent('stop', 2), verdict: verdict(rank) });
    for (let i = 0; i < 100; i++) annotated((i % 10) / 9);
    expect(await drift()).toBeLessThan(100);
    const spoiled = { ...verdict(1), reason: 'unscored_tokens' } as const;
    for (let i = 0; i < 100; i++) {
      tell(observer({ action: 'annotate' }), { ...doneEvent('stop', 2), verdict: spoiled });
      tell(observer({ action: 'rollback' }), { ...doneEvent('stop', 2), verdict: verdict(1) });
    }
    expect(await drift()).toBeLessThan(100);
    for (let i = 0; i < 100; i++) annotated(0.8);
    expect(await drift()).toBeGreaterThan(1e6);
    for (let i = 0; i < 10; i++)
      tell(observer({ method: 'adversarial', action: 'annotate' }), {
        ...doneEvent('stop', 2),
        verdict: verdict(0.5),
      });
    expect(await drift('adversarial')).toBeCloseTo(10);
  });
});

describe('the steps of a guard', () => {
  const counts = async (action: string): Promise<readonly number[]> => {
    const read = await scrape();
    for (const name of ['flinch_steps_total', 'flinch_flagged_steps_total'])
      expect(read.sum(name)).toBe(read.sum(name, { model: 'm', action }));
    const risks = read.series.some(({ name }) => name === 'flinch_step_risk_count')
      ? read.sum('flinch_step_risk_count', { model: 'm', action })
      : 0;
    return [read.sum('flinch_steps_total'), read.sum('flinch_flagged_steps_total'), risks];
  };

  it('count once each, flagged or not', async () => {
    tell(
      observer({ action: 'annotate' }),
      stepDone(0),
      flagged(1, 'annotate'),
      stepDone(1, { flagged: true }),
    );
    expect(await counts('annotate')).toEqual([2, 1, 2]);
  });

  it('have no risk where they cannot be rated yet', async () => {
    tell(observer({ action: 'annotate' }), stepDone(0, { risk: null, score: null }));
    expect(await counts('annotate')).toEqual([1, 0, 0]);
  });

  it('count with what took their place, which has a verdict of its own', async () => {
    tell(observer(), flagged(0, 'rollback'), rollbackDone(0, 'replaced'), stepDone(0, { risk: 0.2 }));
    expect(await counts('rollback')).toEqual([2, 1, 2]);
    expect((await scrape()).sum('flinch_step_risk_sum')).toBeCloseTo(0.97 + 0.2);
    expect((await scrape()).sum('flinch_rollbacks_total', { model: 'm', outcome: 'replaced' })).toBe(1);
  });

  it('are flagged where what took their place is flagged itself', async () => {
    const again = stepDone(0, { flagged: true });
    tell(observer(), flagged(0, 'rollback'), rollbackDone(0, 'replaced'), again, stepDone(1));
    expect(await counts('rollback')).toEqual([3, 2, 3]);
  });

  it('count as they are written where they are held back, also what the guard removes', async () => {
    const held = observer({ action: 'stop', held: true });
    for (const event of [tokenEvent(0), scoreEvent(0, { scores: { nll: 1 } }), flagged(0, 'stop')])
      held.written(event);
    tell(held, flagged(0, 'stop'), doneEvent('content_filter', 0));
    expect(await counts('stop')).toEqual([1, 1, 1]);
    const read = await scrape();
    expect(read.sum('flinch_scored_tokens_total')).toBe(1);
    expect(read.sum('flinch_stops_total')).toBe(1);
    expect(read.sum('flinch_generations_total')).toBe(1);
  });

  it('count once where nothing took their place', async () => {
    tell(
      observer(),
      flagged(0, 'rollback'),
      rollbackDone(0, 'kept'),
      stepDone(0, { flagged: true }),
      stepDone(1),
    );
    expect(await counts('rollback')).toEqual([2, 1, 2]);
    expect((await scrape()).sum('flinch_rollbacks_total', { model: 'm', outcome: 'kept' })).toBe(1);
    expect((await scrape()).sum('flinch_rollbacks_total')).toBe(1);
  });

  it('count where the response ends with them', async () => {
    tell(observer({ action: 'stop' }), stepDone(0), flagged(1, 'stop'), doneEvent('content_filter', 10));
    expect(await counts('stop')).toEqual([2, 1, 2]);
    expect((await scrape()).sum('flinch_stops_total', { model: 'm' })).toBe(1);
    expect((await scrape()).sum('flinch_generations_total', { outcome: 'content_filter' })).toBe(1);
  });
});
