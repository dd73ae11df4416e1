/** Values of a label: one of these, or values that the text describes. Never a value that a client chose. */
export type LabelValues = readonly string[] | string;

/** Definition of a metric, for its users and for the reference (docs/reference/metrics.md). */
export interface Definition<Label extends string = string> {
  /** Counters end in `_total`; a unit stands before it: `_seconds`, `_tokens`. */
  readonly name: string;
  /** Exact description of what is counted, with its unit. */
  readonly help: string;
  readonly labels: Readonly<Record<Label, LabelValues>>;
  /** How the values of several workers become one; by default they are added. */
  readonly aggregator?: 'max' | 'min';
}

export interface HistogramDefinition<Label extends string = string> extends Definition<Label> {
  /** Upper bounds, in ascending order; the last bucket, without a bound, is not among them. */
  readonly buckets: readonly number[];
  /** Whether its buckets show a response that fell into them; only OpenMetrics has room for it. */
  readonly exemplars?: true;
}

/** A definition and its kind. */
export type Defined = (Definition | HistogramDefinition) & {
  readonly type: 'counter' | 'gauge' | 'histogram';
};

/** Label names in the order of the definition. */
export function labelNames<Label extends string>(labels: Readonly<Record<Label, unknown>>): Label[] {
  const names: Label[] = [];
  for (const name in labels) names.push(name);
  return names;
}
