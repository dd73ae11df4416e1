import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client';
import type { Family, Sample } from './exposition.js';
import { familiesOf, type MetricsSnapshot } from './metric-families.js';

/** The metrics of several processes as those of one: sums, unless a metric says otherwise. */
export async function combined(snapshots: readonly MetricsSnapshot[]): Promise<Family[]> {
  return [...(await familiesOf(added(snapshots))), ...sums(snapshots)];
}

/** Sums of the counters of processes that have ended, so that no counter falls. */
export async function retired(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  const counted = (await added(snapshots).getMetricsAsJSON()).filter(({ type }) => String(type) !== 'gauge');
  return { counted, histograms: sums(snapshots) };
}

const added = (snapshots: readonly MetricsSnapshot[]): Registry<PrometheusContentType> =>
  AggregatorRegistry.aggregate(snapshots.map(({ counted }) => [...counted]));

/** Histograms with the same labels have the same buckets. */
function sums(snapshots: readonly MetricsSnapshot[]): Family[] {
  const families = new Map<string, Family>();
  const samples = new Map<string, Map<string, Sample>>();
  for (const family of snapshots.flatMap(({ histograms }) => histograms)) {
    families.set(family.name, family);
    const known = samples.get(family.name) ?? new Map<string, Sample>();
    samples.set(family.name, known);
    for (const sample of family.samples) {
      const key = JSON.stringify([sample.name, sample.labels]);
      known.set(key, sum(known.get(key), sample));
    }
  }
  return [...families.values()].map((family) => ({
    ...family,
    samples: [...(samples.get(family.name)?.values() ?? [])],
  }));
}

/** Sum of two samples, with the later of the exemplars. */
function sum(before: Sample | undefined, sample: Sample): Sample {
  if (!before) return sample;
  const [a, b] = [before.exemplar, sample.exemplar];
  const exemplar = a && b ? (a.time > b.time ? a : b) : (a ?? b);
  return { ...sample, value: before.value + sample.value, ...(exemplar && { exemplar }) };
}
