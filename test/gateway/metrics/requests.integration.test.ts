import { describe, expect, it } from 'vitest';
import { ofType, post, TestSocket } from '../../support/gateway.js';
import { promtoolProblems, Scrape, withoutPromtool } from '../../support/metrics.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const REFUSALS = 'flinch_admission_refusals_total';

describe('refusals by the limits of access', () => {
  it('have the model where the request was read, else none', async () => {
    const gateway = await useTestGateway({
      access: { requests_per_minute: 3, generations: 1 },
      metrics: { port: 0 }, // to read them there is no request that counts
    });
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(ofType('token.delta'));
    expect((await post(gateway.url, ask('hello'))).status).toBe(429); // one is under way
    expect((await post(gateway.url, ask('hello'))).status).toBe(429); // three were asked for
    socket.send({ type: 'generation.create', request_id: 'second', ...ask('hello') });
    await socket.event(({ request_id }) => request_id === 'second');
    const read = await Scrape.of(gateway.metricsUrl);
    const refused = read.series.filter(({ name, value }) => name === REFUSALS && value > 0);
    expect(refused).toEqual([
      { name: REFUSALS, labels: { reason: 'rate_limited' }, value: 1 },
      { name: REFUSALS, labels: { model: 'waiting', reason: 'rate_limited' }, value: 1 },
      { name: REFUSALS, labels: { model: 'waiting', reason: 'too_many_generations' }, value: 1 },
    ]);
    socket.close();
  });

  it('have the model that was asked for while the gateway shuts down', async () => {
    const gateway = await useTestGateway();
    const socket = await TestSocket.open(gateway.url);
    socket.send({ type: 'generation.create', ...ask('wait') });
    await socket.event(ofType('token.delta'));
    const drained = gateway.drain();
    socket.send({ type: 'generation.create', request_id: 'late', ...ask('hello') });
    await socket.event(({ request_id }) => request_id === 'late');
    const read = await Scrape.of(gateway.metricsUrl);
    expect(read.sum(REFUSALS, { model: 'waiting', reason: 'shutting_down' })).toBe(1);
    gateway.model.finish();
    await drained;
  });
});

describe('requests to go on', () => {
  it('are counted by whether they could, over WebSocket', async () => {
    const gateway = await useTestGateway();
    const resumes = async () => {
      const read = await Scrape.of(gateway.metricsUrl);
      return ['recovered', 'lost'].map((outcome) => read.sum('flinch_resumes_total', { outcome }));
    };
    expect(await resumes()).toEqual([0, 0]);
    const first = await TestSocket.open(gateway.url);
    first.send({ type: 'generation.create', resumable: true, ...ask('wait') });
    const { response_id, epoch } = await first.event(ofType('generation.created'));
    await first.event(ofType('token.delta'));
    first.close();
    const second = await TestSocket.open(gateway.url);
    second.send({ type: 'generation.resume', response_id, epoch, offset: 0 });
    await second.event(ofType('generation.resumed'));
    expect(await resumes()).toEqual([1, 0]);
    second.send({ type: 'generation.resume', response_id: 'resp-other', epoch, offset: 0 });
    await second.event(({ response_id: id }) => id === 'resp-other');
    expect(await resumes()).toEqual([1, 1]);
    second.close(1000);
  });

  it('are counted by whether they could, over HTTP', async () => {
    const gateway = await useTestGateway();
    const body = ask('hello', { stream: true, resumable: true });
    const text = await (await post(gateway.url, body)).text();
    const [, id = ''] = /^id: (\S+)/m.exec(text) ?? [];
    const goOn = (lastEventId: string) =>
      fetch(`${gateway.url}/v1/chat/completions/${lastEventId.split('/')[1]}`, {
        headers: { 'Last-Event-ID': lastEventId },
      });
    expect((await goOn(id)).status).toBe(200);
    expect((await goOn(id.replace('/chatcmpl-', '/chatcmpl-x'))).status).toBe(410);
    // That is no place to go on from at all.
    expect((await goOn('nowhere')).status).toBe(400);
    const read = await Scrape.of(gateway.metricsUrl);
    expect(read.sum('flinch_resumes_total', { outcome: 'recovered' })).toBe(1);
    expect(read.sum('flinch_resumes_total', { outcome: 'lost' })).toBe(1);
  });
});

describe('the format', () => {
  const read = (url: string, accept?: string) =>
    fetch(url, { headers: accept === undefined ? {} : { accept } });
  /** What Prometheus 2.42 sends. */
  const PROMETHEUS =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  /** What 3.5 sends: by default, with names as they were, and where it asks for native histograms. */
  const UTF_8 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  const PROMETHEUS_3 = [
    UTF_8,
    UTF_8.replaceAll('allow-utf-8', 'underscores'),
    `application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,${UTF_8}`,
  ];

  it('is the one that is asked for', async () => {
    const { metricsUrl } = await useTestGateway();
    for (const accept of [PROMETHEUS, ...PROMETHEUS_3, 'application/openmetrics-text']) {
      const open = await read(metricsUrl, accept);
      expect(open.headers.get('content-type')).toBe(
        'application/openmetrics-text; version=1.0.0; charset=utf-8',
      );
      expect(open.headers.get('vary')).toContain('Accept');
      expect(await open.text()).toMatch(/\n# EOF\n$/);
    }
    for (const accept of [
      undefined,
      '*/*',
      'text/plain',
      'text/html',
      'application/openmetrics-text;q=0',
      'application/openmetrics-text;q=0.1, */*',
    ]) {
      const classic = await read(metricsUrl, accept);
      expect(classic.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(await classic.text()).not.toContain('# EOF');
    }
  });

  it.skipIf(withoutPromtool)(`is what Prometheus reads ${withoutPromtool ?? ''}`, async () => {
    const { url, metricsUrl } = await useTestGateway();
    await (await post(url, ask('hello'))).text();
    const { text } = await Scrape.of(metricsUrl);
    // Some names of prom-client are not as they should be.
    expect(promtoolProblems(text).filter((line) => !line.startsWith('nodejs_'))).toEqual([]);
  });
});
