import { describe, expect, it } from 'vitest';
import { Metrics } from '#gateway/metrics/metrics.js';
import { METRICS, metricsReference } from '#gateway/metrics/reference.js';
import { post } from '../../support/gateway.js';
import { expectClosedLabels, Scrape } from '../../support/metrics.js';
import { useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

const definitions = Object.values(METRICS).flat();

describe('the reference of the metrics', () => {
  it('has each metric that a gateway shows, and no other', async () => {
    const { metricsUrl } = await useTestGateway();
    const { names } = await Scrape.of(metricsUrl);
    const own = [...names].filter((name) => /^(flinch|gen_ai)_/.test(name));
    expect(definitions.map(({ name }) => name).sort()).toEqual(own.sort());
    expect([...names].every((name) => /^(flinch|gen_ai|process|nodejs)_/.test(name))).toBe(true);
    for (const { name, help } of definitions) {
      expect(metricsReference()).toContain(`### ${name}\n`);
      expect(metricsReference()).toContain(help);
    }
  });

  it('has the labels of each series, and all that they may say', async () => {
    const { url, metricsUrl } = await useTestGateway();
    await (await post(url, ask('hello'))).text();
    await (await post(url, 'no JSON')).text();
    await (await fetch(`${url}/nothing`)).text();
    expectClosedLabels(await Scrape.of(metricsUrl));
  });

  it('has no label of a client, whoever calls', async () => {
    const metrics = new Metrics();
    metrics.refused('overloaded', 'zzevil');
    metrics.request({ method: 'zzevil', route: '/zzevil', status: 200, seconds: 1 });
    const read = new Scrape(await metrics.text());
    expect(read.text).not.toContain('zzevil');
    const other = { method: 'other', route: 'other', status: '2xx' };
    expect(read.sum('flinch_http_request_duration_seconds_count', other)).toBe(1);
    expect(read.sum('flinch_admission_refusals_total', { reason: 'overloaded' })).toBe(1);
  });

  it('has units in the names, which counters end in _total', () => {
    for (const { name, type, help } of definitions) {
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (/^Seconds /.test(help)) expect(name).toMatch(/_seconds$/);
      expect(help).toMatch(/\.$/);
    }
  });
});
