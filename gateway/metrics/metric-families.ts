import { Counter, Gauge, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client';
import { type Defined, type Definition, type HistogramDefinition, labelNames } from './definition.js';
import type { Family, Sample } from './exposition.js';
import { Histogram } from './histogram.js';

/** Counts of one process, in a form that can be sent to another. */
export interface MetricsSnapshot {
  /** Metrics of prom-client. */
  readonly counted: readonly MetricObjectWithValues<MetricValue<string>>[];
  readonly histograms: readonly Family[];
}

/** The metrics of one gateway, made from their definitions. */
export class Families {
  /** In the order in which they were made. */
  readonly definitions: Defined[] = [];
  readonly #registry = new Registry();
  readonly #histograms: Histogram[] = [];
  readonly #before: (() => void)[] = [];
  readonly #failed: (error: unknown) => void;

  /** @param failed called with an error of {@link beforeRead}; the old value is read then */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  readonly counter = <Label extends string>(definition: Definition<Label>): Counter<Label> => {
    this.definitions.push({ ...definition, type: 'counter' });
    return new Counter(this.#configuration(definition));
  };

  readonly gauge = <Label extends string>(definition: Definition<Label>): Gauge<Label> => {
    this.definitions.push({ ...definition, type: 'gauge' });
    return new Gauge(this.#configuration(definition));
  };

  readonly histogram = <Label extends string>(definition: HistogramDefinition<Label>): Histogram<Label> => {
    this.definitions.push({ ...definition, type: 'histogram' });
    const histogram = new Histogram(definition);
    this.#histograms.push(histogram);
    return histogram;
  };

  #configuration<Label extends string>({ name, help, labels, aggregator }: Definition<Label>) {
    const more = { aggregator: aggregator ?? ('sum' as const), registers: [this.#registry] };
    return { name, help, labelNames: labelNames(labels), ...more };
  }

  /** Adds a function that sets values before each read of the metrics, if they are not counted as they change. */
  beforeRead(update: () => void): void {
    this.#before.push(update);
  }

  async read(): Promise<Family[]> {
    this.#update();
    return [...(await familiesOf(this.#registry)), ...this.#families()];
  }

  /** The same, with metrics of the process, to be combined with those of other processes. */
  async snapshot(ofProcess: Registry): Promise<MetricsSnapshot> {
    this.#update();
    const counted = [...(await ofProcess.getMetricsAsJSON()), ...(await this.#registry.getMetricsAsJSON())];
    return { counted, histograms: this.#families() };
  }

  #families(): Family[] {
    return this.#histograms.map((each) => each.family());
  }

  #update(): void {
    for (const update of this.#before) {
      try {
        update();
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}

/** Metrics that prom-client has counted. */
export async function familiesOf(registry: Registry): Promise<Family[]> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type), // declared as numbers, it is a word
    samples: values.map(
      (each): Sample => ({ name: sampleName(each) ?? name, labels: each.labels, value: each.value }),
    ),
  }));
}

/** Name of a sample of a histogram: only these have names of their own. */
function sampleName(value: object): string | undefined {
  return 'metricName' in value && typeof value.metricName === 'string' ? value.metricName : undefined;
}
