import { z } from 'zod';
import { readAnswer } from '../read-answer.js';
import type { Target } from './panels.js';

/** A line of a panel. */
export interface Series {
  readonly name: string;
  /** Seconds since 1970, and the value there. */
  readonly points: readonly (readonly [number, number])[];
}

const answer = z.object({
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string().transform(Number)])),
      }),
    ),
  }),
});

const POINTS = 120;

/**
 * The lines of a query, as Grafana would send it for all models.
 * @throws Error with what Prometheus says of a query that it refuses
 */
export async function queryRange(
  prometheus: string,
  { expr, legendFormat }: Target,
  { end, seconds }: { readonly end: number; readonly seconds: number },
): Promise<Series[]> {
  const query = expr.replaceAll(/\$(__rate_)?interval/g, '1m').replaceAll('$model', '.*');
  const range = { start: String(end - seconds), end: String(end), step: String(seconds / POINTS) };
  const url = new URL('/api/v1/query_range', prometheus);
  url.search = String(new URLSearchParams({ query, ...range }));
  const response = await fetch(url);
  const text = await readAnswer(response);
  if (!response.ok) throw new Error(`${url.origin}: ${response.status}: ${text}`);
  const { data } = answer.parse(JSON.parse(text));
  return data.result.map(({ metric, values }) => ({
    name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
    points: values.filter(([, value]) => Number.isFinite(value)),
  }));
}
