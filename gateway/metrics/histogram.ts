import { type HistogramDefinition, labelNames } from './definition.js';
import type { Exemplar, Family, Sample } from './exposition.js';

/**
 * A histogram with series that are made once and kept by the observer: prom-client looks up the series by its labels
 * with every value, which for the ten values of a token would be most of the cost of observing it; its children take
 * no exemplars; and its registries take those only if they write nothing but OpenMetrics.
 */
export class Histogram<Label extends string = string> {
  readonly definition: HistogramDefinition<Label>;
  readonly #series = new Map<string, HistogramSeries>();

  constructor(definition: HistogramDefinition<Label>) {
    this.definition = definition;
  }

  /** The one of these labels; it is there, with zeros, from now on. An empty label is as good as none. */
  series(labels: Readonly<Record<Label, string>>): HistogramSeries {
    const key = JSON.stringify(labelNames(this.definition.labels).map((name) => labels[name]));
    const series = this.#series.get(key) ?? new HistogramSeries(this.definition.buckets, labels);
    this.#series.set(key, series);
    return series;
  }

  family(): Family {
    const { name, help } = this.definition;
    return {
      name,
      help,
      type: 'histogram',
      samples: [...this.#series.values()].flatMap((each) => each.samples(name)),
    };
  }
}

/** One histogram: how many values lie in each bucket, and their sum. */
export class HistogramSeries {
  readonly #bounds: readonly number[];
  readonly #labels: Readonly<Record<string, string>>;
  /** Counts of each bucket alone; the bucket without a bound is last. */
  readonly #counts: Float64Array;
  readonly #exemplars: (Exemplar | undefined)[] = [];
  #sum = 0;

  constructor(bounds: readonly number[], labels: Readonly<Record<string, string>>) {
    this.#bounds = bounds;
    this.#labels = labels;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** @param exemplar takes the place of the last one of its bucket */
  observe(value: number, exemplar?: Exemplar): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && !(value <= bounds[bucket]!)) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
    if (exemplar) this.#exemplars[bucket] = exemplar;
  }

  samples(name: string): Sample[] {
    const labels = this.#labels;
    let count = 0;
    const buckets = [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, i): Sample => {
      count += this.#counts[i]!;
      const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound);
      const exemplar = this.#exemplars[i];
      return {
        name: `${name}_bucket`,
        labels: { ...labels, le },
        value: count,
        ...(exemplar && { exemplar }),
      };
    });
    return [
      ...buckets,
      { name: `${name}_sum`, labels, value: this.#sum },
      { name: `${name}_count`, labels, value: count },
    ];
  }
}
