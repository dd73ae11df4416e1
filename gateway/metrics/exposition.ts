/** A response that stands for a bucket. */
export interface Exemplar {
  readonly responseId: string;
  readonly value: number;
  /** Seconds since 1970. */
  readonly time: number;
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  readonly exemplar?: Exemplar;
}

/** All series of one metric. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** Prometheus's text format, and OpenMetrics, in which a sample may have an exemplar. */
export const FORMATS = {
  classic: 'text/plain; version=0.0.4',
  openMetrics: 'application/openmetrics-text; version=1.0.0',
} as const;

export type Format = keyof typeof FORMATS;

/**
 * The format that an `Accept` header asks for: OpenMetrics if it is named and wanted no less than the other. Only names
 * and weights count: parameters differ between versions of Prometheus, and 3 has some (`escaping`) that do not
 * concern this output.
 */
export function formatFor(accept = '*/*'): Format {
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
  });
  /** Weight of the first of these types that is named. */
  const weightOf = (...types: readonly string[]): number => {
    const named = types.find((each) => ranges.some(({ type }) => type === each));
    return Math.max(0, ...ranges.filter(({ type }) => type === named).map(({ weight }) => weight));
  };
  const open = weightOf('application/openmetrics-text');
  return open > 0 && open >= weightOf('text/plain', 'text/*', '*/*') ? 'openMetrics' : 'classic';
}

/**
 * Metrics as text. prom-client would take the `_total` from the names of its counters for good once it has written
 * OpenMetrics, so that the other format lacked it from then on.
 */
export function exposition(families: readonly Family[], format: Format): string {
  const lines = families.flatMap((family) => linesOf(family, format));
  if (format === 'openMetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function linesOf({ name, help, type, samples }: Family, format: Format): string[] {
  const open = format === 'openMetrics';
  // OpenMetrics: the suffix `_total` belongs to the names of a counter's samples, not to that of the counter.
  const family = open && type === 'counter' ? name.replace(/_total$/, '') : name;
  // Only OpenMetrics has quotes escaped there.
  const text = open ? escaped(help) : help.replace(/[\\\n]/g, backslashed);
  return [
    `# HELP ${family} ${text}`,
    `# TYPE ${family} ${type}`,
    ...samples.map((sample) => (open ? `${lineOf(sample)}${exemplarOf(sample)}` : lineOf(sample))),
  ];
}

function lineOf({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).flatMap(([label, text]) =>
    // An empty label is the same as none.
    text === undefined || text === '' ? [] : [`${label}="${escaped(String(text))}"`],
  );
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberText(value)}`;
}

function exemplarOf({ exemplar }: Sample): string {
  if (!exemplar) return '';
  const { responseId, value, time } = exemplar;
  return ` # {response_id="${escaped(responseId)}"} ${numberText(value)} ${time.toFixed(3)}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

const escaped = (text: string): string => text.replace(/[\\\n"]/g, backslashed);

const backslashed = (character: string): string => (character === '\n' ? '\\n' : `\\${character}`);
