import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Metrics } from '#gateway/index.js';
import { expectClosedLabels, Scrape } from '../../support/metrics.js';
import { chatRequest, converse, exchange, frame, handshake, OPCODE, request } from '../../support/raw.js';
import { startTestGateway, type TestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

/** In all that is sent, in lower case: nothing of it may ever be found in the metrics. */
const MARK = 'zzevil';
const INJECTION = `${MARK}"} 1\nflinch_${MARK}_total{a="`;

const OPEN_METRICS = { accept: 'application/openmetrics-text; version=1.0.0' };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ metrics: { port: 0 } });
});
afterAll(() => gateway.close());

/** Wherever a client can put a string, in requests that are refused and in some that are not. */
async function attack(evil: string): Promise<void> {
  const { url } = gateway;
  const quoted = encodeURIComponent(evil);
  /** As far as a header may have it, in a name or in a text. */
  const word = evil.replace(/[^a-z0-9]/gi, '-');
  const bodies: object[] = [
    ask('hello', { model: evil }),
    ask('hello', { model: { [evil]: evil } }),
    ask('hello', { guard: { methods: [evil] } }),
    ask('hello', { guard: { method: evil } }),
    ask('hello', { guard: { action: evil, delivery: evil } }),
    ask('hello', { guard: { [evil]: evil } }),
    ask('hello', { [evil]: evil }),
    ask('hello', { tools: [{ type: 'function', function: { name: evil } }] }),
    ask('hello', { tool_choice: evil, response_format: { type: evil } }),
    ask('hello', { messages: [{ role: evil, content: evil }] }),
    // Nothing is wrong with these.
    ask(evil),
    ask(evil, { stream: true, resumable: true }),
    ask('hello', { user: evil, metadata: { about: evil }, stop: [evil] }),
  ];
  const requests = [
    ...bodies.map((body) => chatRequest(JSON.stringify(body), { 'X-Request-Id': word, 'User-Agent': word })),
    chatRequest(`{"model": ${evil}`),
    chatRequest('{}', { 'Content-Type': word, 'Content-Encoding': word }),
    chatRequest('{}', { 'Last-Event-ID': `${word}/chatcmpl-${word}/3` }),
    request(`GET /${quoted}?${quoted}=${quoted}`),
    request(`GET /v1/models/${quoted}`),
    request(`GET /v1/chat/completions/${quoted}`, { 'Last-Event-ID': `${word}/chatcmpl-${word}/1` }),
    request('GET /v1/models', { Origin: `https://${word}.example`, Authorization: `Bearer ${word}` }),
    request('GET /livez', { Host: `${word}.example` }),
    request('GET /livez', { [word]: word, Accept: word }),
    request(`PROPFIND /${word}`),
    request(`${word.toUpperCase()} /v1/models`),
    request(`TRACE /${quoted}`),
    request(`GET http://${word}.example/`),
    handshake({ 'Sec-WebSocket-Protocol': word }),
    handshake({ Origin: `https://${word}.example` }),
    handshake({}, `GET /v1/${word}?ticket=${word}`),
  ];
  for (const each of requests) await exchange(url, each);
  const create = { type: 'generation.create', request_id: evil };
  const messages: unknown[] = [
    { type: evil },
    { type: { [evil]: evil } },
    { ...create, ...ask('hello', { model: evil }) },
    { ...create, ...ask('hello', { guard: { methods: [evil], action: evil } }) },
    { ...create, ...ask(evil, { resumable: true }) },
    { type: 'generation.resume', response_id: evil, epoch: evil, offset: 0 },
    { type: 'generation.cancel', response_id: evil },
    evil,
  ];
  await converse(
    url,
    ...messages.map((message) => frame(OPCODE.text, JSON.stringify(message))),
    frame(OPCODE.close, Buffer.from([0x03, 0xe8])),
  );
}

const key = ({ name, labels }: Scrape['series'][number]): string =>
  `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
const keys = async (): Promise<string[]> =>
  (await Scrape.of(gateway.metricsUrl)).series
    // Which handles and requests Node has open is not ours.
    .filter(({ name }) => !name.startsWith('nodejs_'))
    .map(key)
    .sort();

describe('metrics under attack', () => {
  it('have no series but of closed sets, and nothing that a client wrote', async () => {
    await attack(`${MARK}first`);
    await expect.poll(() => gateway.live.size).toBe(0);
    const before = await keys();
    for (const evil of [
      INJECTION,
      `${MARK}\u0000\u2028\\`,
      `__proto__${MARK}`,
      '__proto__',
      'constructor',
      'toString',
      `${MARK}é漢`,
      MARK.repeat(500),
    ])
      await attack(evil);
    await expect.poll(() => gateway.live.size).toBe(0);
    expect(await keys()).toEqual(before);
    const read = await Scrape.of(gateway.metricsUrl);
    expectClosedLabels(read);
    const open = await (await fetch(gateway.metricsUrl, { headers: OPEN_METRICS })).text();
    for (const output of [read.text, open]) expect(output.toLowerCase()).not.toContain(MARK);
    // All of it arrived, and some of it was served.
    expect(read.sum('flinch_refused_requests_total')).toBeGreaterThan(200);
    expect(read.sum('flinch_generations_total', { model: 'waiting', outcome: 'stop' })).toBeGreaterThan(30);
    expect(open).toMatch(/response_id="(resp|chatcmpl)-[0-9a-f-]{36}"/);
  });

  it('do not rely on others for it', async () => {
    const metrics = new Metrics();
    metrics.refused('overloaded', MARK);
    metrics.request({ method: MARK, route: `/${MARK}`, status: 200, seconds: 1 });
    const read = new Scrape(await metrics.text());
    expect(read.text).not.toContain(MARK);
    const other = { method: 'other', route: 'other', status: '2xx' };
    expect(read.sum('flinch_http_request_duration_seconds_count', other)).toBe(1);
    expect(read.sum('flinch_admission_refusals_total', { reason: 'overloaded' })).toBe(1);
  });
});
