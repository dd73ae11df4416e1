import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configSchema } from '#gateway/config/config.js';
import { type Gateway, Metrics, type OpenModels, openModels, startGateway } from '#gateway/index.js';
import { useFolder } from '../support/cli.js';
import { alerts, readDashboard, recordings, substituted, unconditional } from '../support/dashboards.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { kill } from '../support/process.js';
import { hasPrometheus, Prometheus } from '../support/prometheus.js';
import { GUESSED_QUESTION } from '../support/requests.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { Traffic } from '../support/traffic.js';
import { answering, chunk, stopChunk } from '../support/upstream-doubles.js';

/** Responses that may be under way at once. */
const ROOM = 2;

/** An upstream that answers, tells nothing of one of its tokens, fails, or stalls in the midst: as it is asked. */
const script: Script = ({ body, json }, reply) => {
  const asked = body.messages?.at(-1)?.content;
  if (asked === 'Fail.') return reply.json(500, { error: { message: 'out of order' } });
  if (json.stream !== true) {
    const message = { role: 'assistant', content: 'Yes and no.' };
    return reply.json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }] });
  }
  reply.head().data(chunk('Yes'));
  if (asked === 'Stall.') return;
  reply.last(chunk(' and no', null), chunk('.'), stopChunk);
};

const dashboard = readDashboard();
const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ refId, expr }) => ({ title, refId, expr })),
);
/** Of what did not happen, or was over when Prometheus looked. */
const QUIET = new Set([
  'Running generations',
  'Engine processes down',
  'Upstream models down',
  'Queue depth',
  'Scorer mismatches',
  'Tokens passed over',
  'Share of tokens behind',
  'Dropped log lines',
  'Lost spans',
  'Lost webhook messages',
  'FlinchScorerMismatch',
  'model:gen_ai_server_time_to_first_token_seconds_above_10:ratio_rate10m',
  'FlinchSlowFirstToken',
]);

describe.skipIf(!hasPrometheus)('a real Prometheus (skipped where it is not installed)', () => {
  const folder = useFolder();
  const running: {
    upstream?: ScriptedUpstream;
    opened?: OpenModels;
    gateway?: Gateway;
    prometheus?: Prometheus;
  } = {};
  let prometheus: Prometheus;
  let traffic: Traffic;

  beforeAll(async () => {
    running.upstream = await startScriptedUpstream(answering(script));
    const upstreams = [{ url: running.upstream.url }];
    const { models = {} } = configSchema.parse({
      models: {
        reasoner: {
          checkpoint: await calibratedReasoner(folder.path('reasoner'), 0.00015),
          max_streams: ROOM,
        },
        upstream: { upstreams, timeouts: { idle_s: 1 }, retries: 0 },
      },
    });
    const metrics = new Metrics();
    const opened = await openModels(models, { logger: pino({ level: 'silent' }), env: {}, metrics });
    running.opened = opened;
    const gateway = await startGateway({ models: opened.models, config: { listen: { port: 0 } }, metrics });
    running.gateway = gateway;
    traffic = new Traffic(gateway.url);
    prometheus = await Prometheus.start(gateway.metricsUrl);
    running.prometheus = prometheus;
    await prometheus.caughtUp();
    // What first appears in the first round has a rate after the second.
    await round('score');
    await prometheus.caughtUp();
    await round('decode');
    await prometheus.caughtUp();
  });

  afterAll(async () => {
    await running.prometheus?.close();
    await running.gateway?.close();
    await running.opened?.close();
    await running.upstream?.close();
  });

  async function round(killed: 'decode' | 'score'): Promise<void> {
    const engine = running.opened?.all[0]?.engine;
    const rollback = {
      action: 'rollback',
      rate: 0.5,
      max_rollbacks: 3,
      candidates: 3,
    };
    for (const seed of [1, 2]) {
      const asked = { content: GUESSED_QUESTION, guard: rollback, temperature: 1, seed };
      const heard = await traffic.ask(asked);
      if (seed === 1) await traffic.askHeld(asked, heard);
    }
    await traffic.ask({ guard: { action: 'annotate', rate: 0.5, scoring: { schedule: 'lazy' } } });
    await traffic.ask({ guard: { action: 'stop', rate: 0.999 } });
    await traffic.ask({ model: 'upstream', content: 'Say it.' });
    await traffic.ask({ model: 'upstream', content: 'Stall.' });
    expect(await traffic.post({ model: 'upstream', content: 'Say it.' })).toBeNull();
    expect(await traffic.post({ model: 'upstream', content: 'Fail.' })).toBe('upstream_error');
    await traffic.loseConnection();
    await traffic.crowd(ROOM);
    const { events } = await traffic.interrupt(() => kill(engine?.status()[killed].pid));
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'engine_crashed' } });
    await vi.waitFor(() => expect(engine?.status()[killed].device).toBeDefined(), 60_000);
    await fetch(`${running.gateway?.url}/v1/nothing`);
  }

  /** Of a query: there must be a number, which NaN is not; and more than 0, unless all was quiet there. */
  async function expectData(expression: string, quiet = false): Promise<void> {
    const values = (await prometheus.query(expression)).map(({ value }) => value);
    expect(
      values.some((value) => (quiet ? Number.isFinite(value) : value > 0)),
      `${expression}: ${values}`,
    ).toBe(true);
  }

  it('has counted what the clients saw', async () => {
    const expected = traffic.counts();
    const found = new Map<string, number | undefined>();
    for (const key of expected.keys()) found.set(key, await prometheus.value(key));
    expect(found).toEqual(expected);
    // Nor anything that no client saw.
    const metrics = new Set([...expected.keys()].map((key) => key.slice(0, key.indexOf('{'))));
    for (const metric of metrics) {
      const all = [...expected].filter(([key]) => key.startsWith(`${metric}{`)).map(([, count]) => count);
      expect(await prometheus.value(`sum(${metric})`), metric).toBe(all.reduce((a, b) => a + b));
    }
  });

  it('has seen all of it: flags, corrections, losses and faults', () => {
    const metrics = new Set([...traffic.counts().keys()].map((key) => key.replace(/model="\w+",?/, '')));
    for (const seen of [
      ...['annotate', 'stop', 'rollback'].map((action) => `flagged_steps_total{action="${action}"}`),
      'rollbacks_total{outcome="replaced"}',
      'rollbacks_total{outcome="kept"}',
      'retracted_tokens_total{}',
      'skipped_tokens_total{method="adversarial"}',
      'unscored_tokens_total{method="nll"}',
      'upstream_errors_total{kind="upstream_error"}',
      'upstream_errors_total{kind="upstream_timeout"}',
      'admission_refusals_total{reason="overloaded"}',
      ...['stop', 'cancelled', 'content_filter', 'error'].map(
        (outcome) => `generations_total{outcome="${outcome}"}`,
      ),
    ]) {
      expect(metrics).toContain(`flinch_${seen}`);
    }
  });

  it('has counted the engines that were killed, and the clients that came back', async () => {
    for (const [query, count] of [
      ['flinch_engine_restarts_total{model="reasoner",process="score"}', 1],
      ['flinch_engine_restarts_total{model="reasoner",process="decode"}', 1],
      ['flinch_resumes_total{outcome="recovered"}', 2],
      ['flinch_resumes_total{outcome="lost"}', 2],
    ] as const) {
      expect(await prometheus.value(query), query).toBe(count);
    }
  });

  // These gateways have no Redis, no inference server, and no model that names another one.
  const isThere = (expr: string): boolean => !/flinch_(redis|scorer_server|escalations)_/.test(expr);

  it.each(panels.filter(({ expr }) => isThere(expr)))(
    'has data for the panel $title ($refId)',
    async ({ title, expr }) => {
      await expectData(substituted(expr), QUIET.has(title));
    },
  );

  it.each(recordings())('has recorded $record', async ({ record, expr }) => {
    await expectData(expr, QUIET.has(record));
    await expectData(record, QUIET.has(record));
  });

  it.each(alerts().filter(({ expr }) => isThere(expr)))(
    'has data for the alert $alert',
    async ({ alert, expr }) => {
      await expectData(unconditional(expr), QUIET.has(alert));
    },
  );

  it('evaluates all rules without a fault', async () => {
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name).toSorted()).toEqual(
      [...recordings().map(({ record }) => record), ...alerts().map(({ alert }) => alert)].toSorted(),
    );
    for (const { name, health, lastError } of rules) expect(health, `${name}: ${lastError}`).toBe('ok');
  });

  it('says which engine was started again, in words', async () => {
    const fired = (await prometheus.alerts()).filter(
      ({ labels }) => labels.alertname === 'FlinchEngineRestarted',
    );
    expect(fired.map(({ labels, state }) => [labels.process, state]).toSorted()).toEqual([
      ['decode', 'firing'],
      ['score', 'firing'],
    ]);
    for (const { annotations } of await prometheus.alerts()) {
      expect(Object.values(annotations).join(' ')).not.toMatch(/<no value>|<error|%!/);
      expect(annotations.runbook_url).toMatch(
        /^https:\/\/docs\.example\.org\/flinch\/runbooks\.md#flinch\w+$/,
      );
    }
    for (const { expr } of dashboard.annotations.list) await expectData(expr);
  });

  it('knows the models to choose from', async () => {
    const [, series = '', label = ''] =
      /^label_values\((\w+), (\w+)\)$/.exec(
        dashboard.templating.list.find(({ name }) => name === 'model')?.definition ?? '',
      ) ?? [];
    expect(await prometheus.labelValues(label, series)).toEqual(['reasoner', 'upstream']);
  });

  it('has exemplars that name responses', async () => {
    const ids = new Set(traffic.heard.flatMap(({ events }) => events.map((event) => event.response_id)));
    const found = await prometheus.exemplars('flinch_step_risk_bucket');
    expect(found.length).toBeGreaterThan(0);
    for (const { response_id } of found) expect(ids).toContain(response_id);
  });
});
