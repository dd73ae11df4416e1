import { describe, expect, it } from 'vitest';
import { METRICS } from '#gateway/metrics/reference.js';
import { alerts, type Panel, readDashboard, recordings, selectorsOf } from '../support/dashboards.js';

const dashboard = readDashboard();
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((each) => ({ title, ...each })));

/** Labels that a scrape, or a histogram, adds. */
const ADDED = ['job', 'instance', 'le'];
/** Names of series and their labels; Node's own and Prometheus's have those that a scrape adds. */
const known = new Map<string, readonly string[]>([
  ...[
    'up',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
  ].map((name) => [name, ADDED] as const),
  ...Object.values(METRICS)
    .flat()
    .flatMap(({ name, type, labels }) => {
      const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name];
      return names.map((each) => [each, [...ADDED, ...Object.keys(labels)]] as const);
    }),
]);
const recorded = recordings().map(({ record }) => record);

describe('the dashboard', () => {
  it('has panels of its own ids and titles that do not lie on each other', () => {
    const all = dashboard.panels;
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
    const cells = new Set<string>();
    for (const { title, gridPos } of all) {
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
        const of = known.get(name) ?? [];
        if (of.includes('model')) expect(labels).toContain('model');
        if (of.includes('gen_ai_request_model')) expect(labels).toContain('gen_ai_request_model');
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
      for (const label of labels) expect(known.get(name), name).toContain(label);
    }
  });
});
