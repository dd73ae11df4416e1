import { describe, expect, it } from 'vitest';
import type { LabelValues } from '#gateway/metrics/definition.js';
import { METRICS } from '#gateway/metrics/reference.js';
import {
  alerts,
  type Matcher,
  type Panel,
  readDashboard,
  recordings,
  ruleTests,
  selectorsOf,
} from '../support/dashboards.js';

const dashboard = readDashboard();
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((each) => ({ title, ...each })));

/** Labels that a scrape adds. */
const ADDED: Readonly<Record<string, LabelValues>> = { job: ['flinch'], instance: 'an address' };
/** Names of series and their labels, with what these may say; Node's own and Prometheus's have those that a scrape adds. */
const known = new Map<string, Readonly<Record<string, LabelValues>>>([
  ...[
    'up',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
  ].map((name) => [name, ADDED] as const),
  ...Object.values(METRICS)
    .flat()
    .flatMap((definition) => {
      const { name } = definition;
      const labels = { ...ADDED, ...definition.labels };
      if (!('buckets' in definition)) return [[name, labels] as const];
      const le = [...definition.buckets.map(String), '+Inf'];
      return [
        [`${name}_bucket`, { ...labels, le }] as const,
        ...['_sum', '_count'].map((part) => [name + part, labels] as const),
      ];
    }),
]);
const recorded = recordings().map(({ record }) => record);

describe('the dashboard', () => {
  it('has panels of its own ids and titles that do not lie on each other', () => {
    const all = dashboard.panels;
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
    const cells = new Set<string>();
    // What is folded comes between rows when it is unfolded.
    for (const { title, gridPos } of all.filter((each) => !dashboard.folded.has(each.title))) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells, title).not.toContain(`${x}/${y}`);
          cells.add(`${x}/${y}`);
        }
    }
  });

  it.each(panels.map((panel): [string, Panel] => [panel.title, panel]))('explains %s', (_title, panel) => {
    expect(['timeseries', 'stat', 'heatmap', 'table']).toContain(panel.type);
    expect(panel.description?.length).toBeGreaterThan(40);
    // What it says without data, in place of a name that says nothing.
    expect(panel.fieldConfig?.defaults.noValue).toMatch(/^no \w/);
    expect(panel.fieldConfig?.defaults.unit).toMatch(/^(short|percentunit|cps|reqps|s|bytes)$/);
    expect(panel.targets?.length).toBeGreaterThan(0);
  });

  it('asks the data source that is chosen, everywhere', () => {
    const [chosen, model, interval] = dashboard.templating.list;
    expect(chosen).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(model).toMatchObject({ name: 'model', type: 'query', multi: true, includeAll: true });
    expect(interval).toMatchObject({ name: 'interval', type: 'interval' });
    const sources = [
      model?.datasource,
      ...dashboard.annotations.list.map(({ datasource }) => datasource),
      ...panels.map(({ datasource }) => datasource),
      ...queries.map(({ datasource }) => datasource),
    ];
    expect(new Set(sources.map((each) => JSON.stringify(each)))).toEqual(
      new Set([`{"type":"prometheus","uid":"\${datasource}"}`]),
    );
  });

  it.each(queries.map(({ title, expr }): [string, string] => [title, expr]))(
    'shows the chosen models and intervals alone in %s',
    (_title, expr) => {
      for (const { name, labels } of selectorsOf(expr)) {
        const of = known.get(name) ?? {};
        const asked = labels.map(({ label }) => label);
        if ('model' in of) expect(asked).toContain('model');
        if ('gen_ai_request_model' in of) expect(asked).toContain('gen_ai_request_model');
      }
      for (const [, range] of expr.matchAll(/\[([^\]]*)\]/g)) {
        expect(['$interval', '$__rate_interval']).toContain(range);
      }
    },
  );
});

describe('queries of the dashboard, the rules and the alerts', () => {
  const all = [
    ...queries.map(({ expr }) => expr),
    ...recordings().map(({ expr }) => expr),
    ...alerts().map(({ expr }) => expr),
  ];

  it.each(all)('are about metrics and labels that there are: %s', (expr) => {
    const selectors = selectorsOf(expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const { name, labels } of selectors) {
      expect([...known.keys(), ...recorded]).toContain(name);
      for (const matcher of labels) expectValue(name, matcher);
    }
  });

  it('are tested with series that there are', () => {
    const series = [...ruleTests().matchAll(/series: '([^']*)'/g)].map(([, text = '']) => text);
    expect(series.length).toBeGreaterThan(100);
    for (const { name, labels } of series.flatMap(selectorsOf)) {
      if (name === 'up') continue;
      for (const matcher of labels) expectValue(name, matcher);
    }
  });

  it('compare no quantile with what is not below the last bound: no quantile is ever above that', () => {
    let compared = 0;
    for (const { record, expr } of recordings()) {
      const [, metric = ''] = /histogram_quantile.*?\b(\w+)_bucket/s.exec(expr) ?? [];
      const last = Number(known.get(`${metric}_bucket`)?.le?.at(-2));
      for (const alert of alerts().filter((each) => each.expr.includes(record))) {
        if (metric === '') continue;
        const [, threshold] = new RegExp(`${record}\\s*>\\s*([\\d.]+)`).exec(alert.expr) ?? [];
        expect(Number(threshold), alert.alert).toBeLessThan(last);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(0);
  });
});

/** That a series has the label, and that it may say so: what its words describe may be anything. */
function expectValue(name: string, { label, operator, value }: Matcher): void {
  const values = known.get(name)?.[label];
  expect(values, `${label} of ${name}`).toBeDefined();
  if (typeof values !== 'object' || value.startsWith('$')) return;
  const fit = operator.endsWith('~') ? new RegExp(`^(?:${value})$`) : null;
  const found = values.filter((each) => (fit ? fit.test(each) : each === value));
  expect(found, `${name}{${label}${operator}"${value}"}`).not.toEqual([]);
  // Each of them: one that is not there any more is as good as forgotten.
  if (/^[\w|]+$/.test(value)) for (const each of value.split('|')) expect(values).toContain(each);
}
