import { trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { exportTraces } from '#gateway/index.js';
import { TestSocket } from '../../support/gateway.js';
import { Scrape } from '../../support/metrics.js';
import { otlpReceiver } from '../../support/otlp-receiver.js';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { Serving } from '../../support/serving.js';
import { vllmDouble } from '../../support/upstream-doubles.js';
import { body, upstreamGateway } from '../../support/upstream-gateway.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const TRACED = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'rojo=00f067aa0ba902b7' };

/** Spans of this process go to a collector, until the test is over. */
async function exporting(url: string, variables: Readonly<Record<string, string>> = {}) {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '10', ...variables };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const dropped: [string, number][] = [];
  const traces = await exportTraces({
    env: process.env,
    logger: pino({ level: 'silent' }),
    dropped: (reason, spans) => dropped.push([reason, spans]),
  });
  onTestFinished(() => traces?.close(0));
  return { traces, dropped };
}
afterEach(() => {
  vi.unstubAllEnvs();
  trace.disable();
});

/** A gateway before a server that remembers the headers that it was sent. */
async function gatewayOf(script: Script = vllmDouble()) {
  const headers: Readonly<Record<string, string>>[] = [];
  const upstream = await startScriptedUpstream((request, reply) => {
    headers.push(request.headers);
    return script(request, reply);
  });
  onTestFinished(() => upstream.close());
  const { url } = await upstreamGateway([upstream.url]);
  const post = async (path: string, asked: object, sent: Readonly<Record<string, string>> = TRACED) => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...sent },
      body: JSON.stringify(asked),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { url, headers, post };
}

describe('the built-in exporter', () => {
  it('sends a span for each generation, whichever way it was asked for, and the server gets its context', async () => {
    const collector = await otlpReceiver();
    const { traces } = await exporting(collector.url, {
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    const { url, headers, post } = await gatewayOf();
    const { messages } = body();
    await post('/v1/chat/completions', body());
    await post('/v1/chat/completions', body({ stream: false }));
    await post('/v1/completions', { model: 'm', prompt: 'Say it.' });
    const socket = await TestSocket.open(url, TRACED);
    socket.send({ type: 'generation.create', model: 'm', messages });
    const { response_id } = await socket.event(({ type }) => type === 'generation.done');
    socket.close(1000);
    await traces?.close();

    expect(collector.headers.every((each) => each['x-key'] === 'secret')).toBe(true);
    const { spans } = collector;
    expect(spans.map(({ name }) => name)).toEqual(['chat m', 'chat m', 'text_completion m', 'chat m']);
    for (const span of spans) {
      expect(span).toMatchObject({ trace_id: TRACE, parent_span_id: PARENT, trace_state: TRACED.tracestate });
      expect(span.resource).toMatchObject({
        'service.name': 'flinch',
        'service.version': '0.1.0',
        'deployment.environment.name': 'test',
      });
      expect(span.attributes).toMatchObject({
        'gen_ai.provider.name': 'openai',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.output_tokens': expect.any(Number),
      });
      expect(span.events.map(({ attributes }) => attributes['gen_ai.evaluation.name'])).toEqual([
        'flinch.verdict',
      ]);
      const traceparent = `00-${TRACE}-${span.span_id}-01`;
      expect(headers).toContainEqual(expect.objectContaining({ ...TRACED, traceparent }));
    }
    expect(spans.at(-1)?.attributes['gen_ai.response.id']).toBe(response_id);
    expect(JSON.stringify(spans)).not.toMatch(/Say it|First/);
  });

  it('sends the error of an answer that fails, which is unscored', async () => {
    const collector = await otlpReceiver();
    const { traces } = await exporting(collector.url);
    const broken: Script = async (request, reply) => {
      if (request.body.max_tokens !== 77) return vllmDouble()(request, reply);
      reply.head().data({ choices: [{ index: 0, delta: { content: 'It' }, finish_reason: null }] });
      reply.raw('no chunk\r\n');
    };
    const { post } = await gatewayOf(broken);
    await post('/v1/chat/completions', body({ max_tokens: 77 }));
    await traces?.close();
    const [span] = collector.spans;
    expect(span?.attributes).toMatchObject({ 'error.type': 'upstream_error', 'flinch.verdict': 'unscored' });
    expect(span?.status?.code).toBe(2);
  });

  it.each([
    ['is not there', () => 'http://127.0.0.1:1'],
    ['refuses', async () => (await otlpReceiver((res) => void res.writeHead(400).end())).url],
    [
      'is moved',
      async () => (await otlpReceiver((res) => void res.writeHead(307, { location: '/' }).end())).url,
    ],
  ])('counts what is lost where the collector %s; nothing else happens', async (_, urlOf) => {
    const { dropped } = await exporting(await urlOf(), { OTEL_EXPORTER_OTLP_TIMEOUT: '300' });
    const { post } = await gatewayOf();
    expect((await post('/v1/chat/completions', body())).status).toBe(200);
    await expect.poll(() => dropped).toEqual([['export_failed', 1]]);
  });

  it('keeps so many spans for a collector that hangs, and waits for it so long', async () => {
    const collector = await otlpReceiver(() => {});
    const { dropped, traces } = await exporting(collector.url, { OTEL_BSP_MAX_QUEUE_SIZE: '3' });
    const { post } = await gatewayOf();
    for (let i = 0; i < 5; i++) expect((await post('/v1/chat/completions', body())).status).toBe(200);
    expect(dropped).toEqual([
      ['queue_full', 1],
      ['queue_full', 1],
    ]);
    const began = performance.now();
    await traces?.close(100);
    expect(performance.now() - began).toBeLessThan(5000);
    expect(dropped.slice(2)).toEqual([['export_failed', 3]]);
  });
});

describe('flinch serve', () => {
  it('sends what its workers have before it ends, and ends in time where the collector hangs', async () => {
    const upstream = await startScriptedUpstream(vllmDouble());
    onTestFinished(() => upstream.close());
    let answers = 0;
    const collector = await otlpReceiver((res) => {
      answers += 1;
      if (answers === 1) res.end();
    });
    const args = ['--upstream', upstream.url, '--upstream-model', 'm', '--workers', '2'];
    const serving = await Serving.start(args, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '600000',
    });
    onTestFinished(() => serving.kill());
    for (let i = 0; i < 4; i++)
      expect((await serving.send('POST', '/v1/chat/completions', body())).status).toBe(200);
    expect(collector.spans).toEqual([]);
    const began = performance.now();
    serving.kill('SIGTERM');
    expect((await serving.process.finished).code).toBe(0);
    // 3 s for the spans, and less than 1 s for all else on a quiet machine. The exporter's own time is 10 s.
    expect(performance.now() - began).toBeLessThan(9000);
    expect(collector.spans).toHaveLength(4);
    expect(new Set(collector.spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(2);
    const lost = serving.log.filter(({ msg }) => msg === 'spans were not exported');
    expect(lost.map(({ spans }) => spans)).toEqual([2]);
  });
});

describe('without a collector', () => {
  it('the trace goes on to the server, and a context of 10 kB is ignored and counted', async () => {
    const { url, headers, post } = await gatewayOf();
    const seen = async (sent: Readonly<Record<string, string>>) => {
      headers.length = 0;
      expect((await post('/v1/chat/completions', body({ max_tokens: 7 }), sent)).status).toBe(200);
      return headers.at(-1) ?? {};
    };
    expect(await seen(TRACED)).toMatchObject(TRACED);
    expect(await seen({})).not.toHaveProperty('traceparent');
    const ignored = async () =>
      (await Scrape.of(`${url}/metrics`)).sum('flinch_trace_contexts_ignored_total');
    expect(await ignored()).toBe(0);
    const long = 'x'.repeat(10_000);
    expect(await seen({ ...TRACED, traceparent: `${TRACED.traceparent}-${long}` })).not.toHaveProperty(
      'traceparent',
    );
    expect(await seen({ ...TRACED, tracestate: `a=${long}` })).not.toHaveProperty('tracestate');
    const socket = await TestSocket.open(url, { traceparent: long });
    socket.close(1000);
    expect(await ignored()).toBe(3);
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    ['OTEL_TRACES_EXPORTER', { OTEL_TRACES_EXPORTER: 'zipkin' }],
  ])('a variable that cannot be used is named: %s', async (name, variables) => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...variables };
    const options = { env, logger: pino({ level: 'silent' }), dropped: () => {} };
    await expect(exportTraces(options)).rejects.toThrow(`${name}: must be`);
  });

  it.each([
    {},
    { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
    { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
  ])('nothing is exported: %o', async (env) => {
    expect(await exportTraces({ env, logger: pino({ level: 'silent' }), dropped: () => {} })).toBeNull();
  });
});
