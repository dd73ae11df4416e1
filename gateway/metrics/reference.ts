import * as calibration from './calibration.js';
import * as connections from './connections.js';
import type { Definition, HistogramDefinition, LabelValues } from './definition.js';
import * as engine from './engine.js';
import * as generations from './generations.js';
import * as guard from './guard-definitions.js';
import * as http from './http.js';
import * as policy from './policy.js';
import * as build from './process.js';
import * as redis from './redis.js';
import * as reload from './reload.js';
import * as replaced from './replaced-answers.js';
import * as servers from './scorer-servers.js';
import * as telemetry from './telemetry.js';
import * as upstream from './upstream.js';

/** All metrics of the gateway by their subject, Node's own apart. */
export const METRICS: Readonly<Record<string, readonly (Definition | HistogramDefinition)[]>> = {
  Generations: [
    generations.REQUEST_DURATION,
    generations.TIME_TO_FIRST_TOKEN,
    generations.TIME_PER_OUTPUT_TOKEN,
    generations.TOKEN_USAGE,
    generations.GENERATIONS,
    generations.GENERATED_TOKENS,
  ],
  Scores: [
    guard.TOKEN_SCORE,
    guard.TOKEN_RISK,
    guard.SCORED_TOKENS,
    guard.SKIPPED_TOKENS,
    guard.LAG_SKIPPED_TOKENS,
    guard.UNSCORED_TOKENS,
    guard.RIVALS,
    guard.LAG_TOKENS,
    guard.LAG_SECONDS,
  ],
  'Steps, interventions and verdicts': [
    guard.STEP_RISK,
    guard.CALIBRATION_DRIFT,
    guard.STEPS,
    guard.FLAGGED_STEPS,
    guard.STOPS,
    guard.ROLLBACKS,
    guard.RETRACTED_TOKENS,
    guard.STEP_HOLD,
    guard.VERDICTS,
    replaced.ESCALATIONS,
    replaced.VOTES,
  ],
  Policies: [policy.POLICY_REQUESTS],
  Calibration: [calibration.CALIBRATION_ANSWERS],
  Engine: [engine.PASS_DURATION, engine.QUEUE_DEPTH, engine.RESTARTS, engine.ENGINE_UP],
  'Inference servers that score': [
    servers.SERVER_UP,
    servers.SERVER_SEQUENCES,
    servers.SERVER_RUNS,
    servers.SERVER_FAILURES,
    servers.SERVER_SECONDS,
    servers.SEQUENCES_LOST,
  ],
  Upstreams: [upstream.UPSTREAM_ERRORS, upstream.UPSTREAM_UP, upstream.SCORER_MISMATCHES],
  'HTTP and connections': [
    http.REQUEST_DURATION,
    http.REFUSED,
    http.ADMISSION,
    connections.ACTIVE_GENERATIONS,
    connections.CONNECTIONS,
    connections.RESUMED,
  ],
  'Shared state': [redis.REDIS_UP, redis.REDIS_DURATION, redis.REDIS_FAILURES],
  'Traces and webhooks': [telemetry.SPANS_DROPPED, telemetry.CONTEXTS_IGNORED, telemetry.WEBHOOK_MESSAGES],
  Configuration: [reload.RELOADS, reload.LAST_RELOAD],
  Process: [build.BUILD_INFO, build.LOG_LINES_DROPPED],
};

const INTRODUCTION = `# Metrics

All metrics of \`/metrics\`, with their exact meaning. The format is Prometheus text, or OpenMetrics with \`Accept: application/openmetrics-text\`, which Prometheus sends. In OpenMetrics, buckets of some histograms have an exemplar: the \`response_id\` of the last response in them.

All labels have a fixed set of values. Text sent by a client, such as the name of an unknown model, never appears in a label.`;

/** docs/reference/metrics.md. */
export function metricsReference(): string {
  const subjects = Object.entries(METRICS).map(([subject, definitions]) =>
    [`## ${subject}`, ...definitions.map(section)].join('\n\n'),
  );
  return `${[INTRODUCTION, ...subjects, nodeSection()].join('\n\n')}\n`;
}

function section(definition: Definition | HistogramDefinition): string {
  const { name, type, help, labels } = definition;
  const exemplars = 'exemplars' in definition ? ', with exemplars' : '';
  const list = Object.entries(labels).map(([label, values]) => `- \`${label}\`: ${valuesText(values)}`);
  if ('buckets' in definition) list.push(`- buckets: ${definition.buckets.join(', ')}`);
  const about = `### ${name}\n\n${type}${exemplars}. ${help}`;
  return list.length > 0 ? `${about}\n\n${list.join('\n')}` : about;
}

const valuesText = (values: LabelValues): string =>
  typeof values === 'string' ? values : values.map((value) => `\`${value}\``).join(', ');

/** Metrics of prom-client; their names depend on the platform and on the version of Node. */
function nodeSection(): string {
  const text =
    'In addition, prom-client reports metrics of the process: CPU time and memory (`process_*`), event loop, heap and garbage collection (`nodejs_*`).';
  return `## Node\n\n${text}`;
}
