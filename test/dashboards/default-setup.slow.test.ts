import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alerts, readDashboard, recordings, substituted } from '../support/dashboards.js';
import { chatBody } from '../support/gateway.js';
import { hasPrometheus, Prometheus } from '../support/prometheus.js';
import { Serving } from '../support/serving.js';

/** What a query of a panel comes to. `missing` has no data, and its panel is open and does not say why. */
type Kind = 'data' | 'folded' | 'reason' | 'missing' | 'not a number';

const { panels, folded, templating } = readDashboard();

describe.skipIf(!hasPrometheus)('the dashboard of flinch serve without any option', () => {
  let serving: Serving;
  let prometheus: Prometheus;
  beforeAll(async () => {
    serving = await Serving.start([]);
    prometheus = await Prometheus.start(`${serving.url}/metrics`);
    await prometheus.caughtUp();
    // What first appears in the first round has a rate after the second.
    for (const first of [10, 20]) {
      for (let i = 0; i < 5; i++) await ask(`What is ${first + i} + 30 - 5?`, i % 2 === 0);
      await prometheus.caughtUp();
    }
  });
  afterAll(async () => {
    await prometheus?.close();
    serving?.kill();
  });

  async function ask(content: string, stream: boolean): Promise<void> {
    const body = chatBody({ messages: [{ role: 'user', content }], stream });
    expect((await serving.send('POST', '/v1/chat/completions', body)).status).toBe(200);
  }

  /** Of all queries, by panel. */
  async function kinds(expressionOf: (expr: string) => string): Promise<Map<Kind, string[]>> {
    const found = new Map<Kind, string[]>();
    for (const { title, targets = [], fieldConfig } of panels) {
      for (const { refId, expr } of targets) {
        const values = (await prometheus.query(expressionOf(expr))).map(({ value }) => value);
        const reason = fieldConfig?.defaults.noValue !== undefined ? 'reason' : 'missing';
        const without = folded.has(title) ? 'folded' : reason;
        const kind = values.some(Number.isNaN) ? 'not a number' : values.length > 0 ? 'data' : without;
        found.set(kind, [...(found.get(kind) ?? []), `${title} ${refId}`]);
      }
    }
    return found;
  }

  it('has data, a reason or a fold for each query', async () => {
    const { data, ...others } = Object.fromEntries(await kinds(substituted));
    expect(others).toEqual({
      reason: [
        'Upstream models down A',
        'Steps held back A',
        'Steps held back B',
        'Steps held back C',
        'Escalated answers A',
        'Scorer mismatches A',
      ],
      folded: [
        'Upstream errors A',
        'Upstreams up A',
        ...['Runs by inference server A', 'Runs by inference server B'],
        'Duration of runs by inference server A',
        'Inference servers in use A',
        ...['Sequences at inference servers A', 'Sequences at inference servers B'],
        ...['Redis away A', 'Redis away B'],
        ...['Duration of Redis commands A', 'Duration of Redis commands B'],
      ],
    });
    expect(data).toHaveLength(69);
  });

  it('is not a number nowhere while nothing is asked, either', async () => {
    // As if the last requests were long ago: over an interval in which nothing changes.
    await prometheus.caughtUp();
    const quiet = await kinds((expr) => substituted(expr).replaceAll('[2m]', '[2s]'));
    expect(quiet.get('not a number')).toBeUndefined();
    expect(quiet.get('missing')).toBeUndefined();
  });

  it('has data of the lag of scoring, which is below a block', async () => {
    const lag = panels.filter(({ title }) => title.startsWith('Scoring lag'));
    expect(lag).toHaveLength(2);
    for (const { targets = [] } of lag) {
      for (const { expr } of targets) {
        const [first] = await prometheus.query(substituted(expr));
        expect(first?.value, expr).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it('evaluates all rules without a fault', async () => {
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name).toSorted()).toEqual(
      [...recordings().map(({ record }) => record), ...alerts().map(({ alert }) => alert)].toSorted(),
    );
    for (const { name, health, lastError } of rules) expect(health, `${name}: ${lastError}`).toBe('ok');
  });

  it('knows the models to choose from, and has exemplars that name responses', async () => {
    const { definition = '' } = templating.list.find(({ name }) => name === 'model') ?? {};
    const [, series = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
    expect(await prometheus.labelValues(label, series)).toEqual(['reasoner']);
    const found = await prometheus.exemplars('flinch_step_risk_bucket');
    expect(found.length).toBeGreaterThan(0);
    for (const { response_id } of found) expect(response_id).toMatch(/^chatcmpl-/);
  });
});
