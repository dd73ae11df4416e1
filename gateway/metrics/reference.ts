import type { Defined, LabelValues } from './definition.js';
import { instrumentsOf } from './instruments.js';
import { Families } from './metric-families.js';

const SUBJECTS: Readonly<Record<string, string>> = {
  generations: 'Generations',
  scores: 'Scores',
  guard: 'Steps, interventions and verdicts',
  policies: 'Policies',
  calibration: 'Calibration',
  engine: 'Engine',
  servers: 'Inference servers that score',
  upstreams: 'Upstreams',
  http: 'HTTP and connections',
  redis: 'Shared state',
  telemetry: 'Traces and webhooks',
  reloads: 'Configuration',
  process: 'Process',
};

/** All metrics of the gateway by their subject, Node's own apart. */
export const METRICS: Readonly<Record<string, readonly Defined[]>> = (() => {
  const families = new Families(() => {});
  const groups = Object.entries(instrumentsOf(families));
  return Object.fromEntries(
    groups.map(([key, group]) => [
      SUBJECTS[key] ?? key,
      families.definitions.splice(0, Object.keys(group).length),
    ]),
  );
})();

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

function section(definition: Defined): string {
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
