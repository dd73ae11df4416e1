import { readFileSync } from 'node:fs';
import { z } from 'zod';

const file = new URL('../../../dashboards/grafana/dashboards/flinch.json', import.meta.url);

const target = z.object({ expr: z.string(), legendFormat: z.string() });
export type Target = z.output<typeof target>;

const panel = z.object({
  type: z.string(),
  title: z.string(),
  targets: z.array(target).default([]),
  fieldConfig: z
    .object({
      defaults: z.object({
        unit: z.string().default('short'),
        custom: z.object({ scaleDistribution: z.object({ type: z.string() }).optional() }).optional(),
        thresholds: z.object({ steps: z.array(z.object({ value: z.number().nullable() })) }).optional(),
      }),
    })
    .optional(),
});

/** The panels of a folded row are in it. */
const dashboard = z.object({ panels: z.array(panel.extend({ panels: z.array(panel).default([]) })) });

/** A panel of time series. */
export interface Panel {
  readonly title: string;
  readonly targets: readonly Target[];
  readonly isPercent: boolean;
  readonly isLog: boolean;
  /** Where a dashed line is. */
  readonly threshold: number | null;
}

/** The time series of a row of the dashboard; none where there is no such row. */
export function panelsOf(row: string): Panel[] {
  const rows = dashboard.parse(JSON.parse(readFileSync(file, 'utf8'))).panels;
  const panels = rows.flatMap(({ panels: folded, ...shown }) => [shown, ...folded]);
  const first = panels.findIndex(({ type, title }) => type === 'row' && title === row) + 1;
  if (first === 0) return [];
  const next = panels.findIndex(({ type }, i) => i >= first && type === 'row');
  return panels
    .slice(first, next < 0 ? panels.length : next)
    .filter(({ type }) => type === 'timeseries')
    .map(({ title, targets, fieldConfig }) => {
      const { unit, custom, thresholds } = fieldConfig?.defaults ?? {};
      return {
        title,
        targets,
        isPercent: unit === 'percentunit',
        isLog: custom?.scaleDistribution?.type === 'log',
        threshold: thresholds?.steps.find(({ value }) => value !== null)?.value ?? null,
      };
    });
}
