import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { combined, retired } from '#gateway/metrics/combine.js';
import { exposition } from '#gateway/metrics/exposition.js';
import { Families, type MetricsSnapshot } from '#gateway/metrics/metric-families.js';
import { Metrics } from '#gateway/metrics/metrics.js';

const requests = { name: 'requests_total', help: 'a', type: 'counter', labels: { model: 'any' } } as const;
const open = { name: 'open', help: 'b', type: 'gauge', labels: {} } as const;
const up = { name: 'up', help: 'c', type: 'gauge', labels: {}, aggregator: 'max' } as const;
const seconds = {
  name: 'seconds',
  help: 'd',
  type: 'histogram',
  labels: { model: 'any' },
  buckets: [1],
} as const;

/** Of a process that has counted as much. */
async function snapshot(count: number, at = 0): Promise<MetricsSnapshot> {
  const families = new Families((error) => {
    throw error;
  });
  families.counter(requests).inc({ model: 'm' }, count);
  families.gauge(open).set(count);
  families.gauge(up).set(count % 2);
  const series = families.histogram(seconds).series({ model: 'm' });
  for (let i = 0; i < count; i++) series.observe(i, { responseId: `r${count}`, value: i, time: at });
  // As it is after its way from another process.
  return structuredClone(await families.snapshot(new Registry()));
}

const text = async (snapshots: readonly MetricsSnapshot[]): Promise<string[]> =>
  exposition(await combined(snapshots), 'openMetrics')
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');

describe('the metrics of several processes', () => {
  it('are sums, the largest where a metric says so, and buckets with the later exemplar', async () => {
    expect(await text([await snapshot(2, 10), await snapshot(3, 5)])).toEqual([
      'requests_total{model="m"} 5',
      'open 5',
      'up 1',
      'seconds_bucket{model="m",le="1"} 4 # {response_id="r2"} 1 10.000',
      'seconds_bucket{model="m",le="+Inf"} 5 # {response_id="r3"} 2 5.000',
      'seconds_sum{model="m"} 4',
      'seconds_count{model="m"} 5',
    ]);
  });

  it('keep what a process had counted that is gone, but not how it was', async () => {
    const gone = await retired([await snapshot(2), await snapshot(1)]);
    expect(
      (await text([await retired([gone]), await snapshot(3)])).filter((line) => !/bucket/.test(line)),
    ).toEqual([
      'requests_total{model="m"} 6',
      'open 3',
      'up 1',
      'seconds_sum{model="m"} 4',
      'seconds_count{model="m"} 6',
    ]);
  });

  it('are those of all who are asked, once a gateway is one of several', async () => {
    const metrics = new Metrics();
    const own = await metrics.text();
    expect(own).toContain('process_start_time_seconds');
    metrics.collectFrom(async () => [await metrics.snapshot(), await metrics.snapshot()]);
    const all = await metrics.text();
    expect(all).toContain('flinch_build_info{version="0.1.0"} 1\n');
    // Whose of them nobody could say.
    expect(all).not.toContain('process_start_time_seconds');
  });
});
