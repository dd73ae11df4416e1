import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { Metrics, Models, openModels, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { expectClosedLabels, Scrape } from '../../support/metrics.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { ANSWER, answering, chunk, ollamaDouble } from '../../support/upstream-doubles.js';
import { streamed } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A gateway as the command starts it, whose model `m` is run by one server. */
async function gatewayOf(script: Script) {
  const upstream = await scriptedUpstream(answering(script));
  const metrics = new Metrics();
  const opened = await openModels(
    { m: upstreamConfig([upstream.url], { retries: 0 }) },
    { logger: pino({ level: 'silent' }), env: {}, metrics },
  );
  const gateway = await startGateway({ models: opened.models, metrics, config: { listen: { port: 0 } } });
  cleanups.push(
    () => opened.close(),
    () => gateway.close(),
  );
  const read = async () => new Scrape(await metrics.text());
  return { url: gateway.url, read, close: () => upstream.close() };
}

const GEN_AI = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai', gen_ai_request_model: 'm' };

describe('what the metrics say of a model with upstreams', () => {
  it('is the same as of one of our own', async () => {
    const { url, read } = await gatewayOf(ollamaDouble());
    const { chunks } = await streamed(url, { stream_options: { include_usage: true } });
    const tokens = chunks.flatMap(({ flinch }) => flinch?.tokens ?? []);
    const usage = chunks.findLast((each) => each.usage)?.usage;
    const metrics = await read();
    const used = (type: string) =>
      metrics.sum('gen_ai_client_token_usage_sum', { ...GEN_AI, gen_ai_token_type: type });
    expect(usage?.completion_tokens).toBe(ANSWER.length);
    expect([used('input'), used('output')]).toEqual([usage?.prompt_tokens, usage?.completion_tokens]);
    expect(metrics.sum('gen_ai_server_time_to_first_token_seconds_count', GEN_AI)).toBe(1);
    const scored = new Set(tokens.flatMap(({ index, scores }) => (scores ? [index] : [])));
    expect(scored.size).toBe(ANSWER.length);
    expect(metrics.sum('flinch_scored_tokens_total', { model: 'm' })).toBe(scored.size);
    expect(metrics.sum('flinch_token_score_count', { model: 'm', method: 'nll' })).toBe(scored.size);
    expect(metrics.sum('flinch_generations_total', { model: 'm', outcome: 'stop' })).toBe(1);
    expect(metrics.sum('flinch_upstream_up', { model: 'm' })).toBe(1);
    // It runs nothing here.
    expect(metrics.series.some(({ name }) => name === 'flinch_engine_up')).toBe(false);
  });

  it('has its faults by kind, and that the generation failed', async () => {
    const { url, read } = await gatewayOf((_, reply) => reply.head().data(chunk('One')).cut());
    expect((await streamed(url)).error).toMatchObject({ code: 'upstream_error' });
    const metrics = await read();
    const faults = (labels: object) => metrics.sum('flinch_upstream_errors_total', { model: 'm', ...labels });
    expect(faults({ kind: 'upstream_error' })).toBe(1);
    expect(faults({})).toBe(1);
    expect(metrics.sum('flinch_generations_total', { model: 'm', outcome: 'error' })).toBe(1);
    const failed = { ...GEN_AI, error_type: 'upstream_error' };
    expect(metrics.sum('gen_ai_server_request_duration_seconds_count', failed)).toBe(1);
  });

  it('has that a server is gone which nobody asks for anything, and asks nothing of it but whether it is there', async () => {
    const upstream = await scriptedUpstream(answering(ollamaDouble()));
    let now = 0;
    const model = openUpstreamModel('m', upstreamConfig([upstream.url]), { env: {}, now: () => now });
    const metrics = new Metrics();
    metrics.watch({
      models: new Models([model]),
      generations: () => 0,
      connections: () => ({ http: 0, websocket: 0 }),
    });
    cleanups.push(() => model.close());
    const up = async () => new Scrape(await metrics.text()).sum('flinch_upstream_up', { model: 'm' });
    await expect.poll(up).toBe(1);
    const asked = upstream.requests.length;
    now = 29_000;
    expect([await up(), await up()]).toEqual([1, 1]);
    now = 31_000;
    await expect.poll(async () => [await up(), upstream.requests.length]).toEqual([1, asked + 1]);
    expect(upstream.requests.at(-1)).toMatchObject({ path: '/v1/models', body: {} });
    await upstream.close();
    now = 62_000;
    await expect.poll(up).toBe(0);
    expect(model.status().ready).toBe(false);
  });

  it('has nothing in it that a server says', async () => {
    const evil = 'zzevil"} 1\nflinch_zzevil_total 1';
    let status = 399;
    const { url, read } = await gatewayOf((_, reply) => {
      status += 1;
      reply.json(status, { error: { code: evil, type: evil, message: evil }, model: evil });
    });
    for (let i = 0; i < 30; i++) await streamed(url);
    const metrics = await read();
    expect(metrics.sum('flinch_upstream_errors_total', { model: 'm' })).toBeGreaterThanOrEqual(30);
    expect(metrics.text).not.toContain('zzevil');
    expectClosedLabels(metrics);
  });
});
