import { describe, expect, it } from 'vitest';
import { exposition, type Family } from '#gateway/metrics/exposition.js';
import { Histogram } from '#gateway/metrics/histogram.js';
import { promtoolProblems, Scrape, withoutPromtool } from '../../support/metrics.js';

const counter: Family = {
  name: 'a_total',
  help: 'Says "a",\nand \\.',
  type: 'counter',
  samples: [
    { name: 'a_total', labels: { model: 'with "quotes", \\ and \n', kind: '' }, value: 3 },
    { name: 'a_total', labels: {}, value: Number.POSITIVE_INFINITY },
  ],
};

const times = () =>
  new Histogram({
    name: 'b_seconds',
    help: 'How long.',
    labels: { model: 'a name' },
    buckets: [0.1, 1],
    exemplars: true,
  });

describe('metrics as text', () => {
  it('are written in the classic format', () => {
    expect(exposition([counter], 'classic')).toBe(
      `# HELP a_total Says "a",\\nand \\\\.
# TYPE a_total counter
a_total{model="with \\"quotes\\", \\\\ and \\n"} 3
a_total +Inf
`,
    );
  });

  it('are written in OpenMetrics, where a counter has another name than its samples', () => {
    expect(exposition([counter], 'openMetrics')).toBe(
      `# HELP a Says \\"a\\",\\nand \\\\.
# TYPE a counter
a_total{model="with \\"quotes\\", \\\\ and \\n"} 3
a_total +Inf
# EOF
`,
    );
  });

  it('have exemplars in OpenMetrics alone: the last of each bucket', () => {
    const histogram = times();
    const series = histogram.series({ model: 'm' });
    series.observe(0.1, { responseId: 'first', value: 0.1, time: 1.5 });
    series.observe(0.05, { responseId: 'second', value: 0.05, time: 2 });
    series.observe(7, { responseId: 'third', value: 7, time: 3 });
    series.observe(0.5);
    const buckets = (format: 'classic' | 'openMetrics') =>
      exposition([histogram.family()], format)
        .split('\n')
        .filter((line) => /^b_seconds_/.test(line));
    expect(buckets('openMetrics')).toEqual([
      'b_seconds_bucket{model="m",le="0.1"} 2 # {response_id="second"} 0.05 2.000',
      'b_seconds_bucket{model="m",le="1"} 3',
      'b_seconds_bucket{model="m",le="+Inf"} 4 # {response_id="third"} 7 3.000',
      'b_seconds_sum{model="m"} 7.65',
      'b_seconds_count{model="m"} 4',
    ]);
    expect(buckets('classic').join()).not.toContain('response_id');
  });

  it.skipIf(withoutPromtool)(`are what Prometheus reads ${withoutPromtool ?? ''}`, () => {
    const histogram = times();
    histogram.series({ model: 'a\nb' }).observe(0.3);
    expect(promtoolProblems(exposition([counter, histogram.family()], 'classic'))).toEqual([]);
    // It finds something where something is wrong.
    expect(promtoolProblems(exposition([{ ...counter, type: 'gauge' }], 'classic'))).not.toEqual([]);
  });
});

describe('a histogram', () => {
  it('counts each value in the first bucket whose bound it does not pass, and in all above', () => {
    const histogram = times();
    const series = histogram.series({ model: 'm' });
    for (const value of [0, 0.1, 0.1000001, 1, 2, Number.POSITIVE_INFINITY]) series.observe(value);
    const scrape = new Scrape(exposition([histogram.family()], 'classic'));
    const bucket = (le: string) => scrape.sum('b_seconds_bucket', { le });
    expect([bucket('0.1'), bucket('1'), bucket('+Inf')]).toEqual([2, 4, 6]);
    expect(scrape.sum('b_seconds_count')).toBe(6);
    expect(scrape.sum('b_seconds_sum')).toBe(Number.POSITIVE_INFINITY);
  });
});
