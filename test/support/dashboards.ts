import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

export const DASHBOARDS = fileURLToPath(new URL('../../dashboards', import.meta.url));
const TESTS = fileURLToPath(new URL('../dashboards', import.meta.url));

const datasource = z.object({ type: z.string(), uid: z.string() });

const target = z.looseObject({ refId: z.string(), expr: z.string(), datasource });

const panel = z.looseObject({
  id: z.int(),
  type: z.string(),
  title: z.string(),
  description: z.string().optional(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  datasource: datasource.optional(),
  targets: z.array(target).optional(),
  fieldConfig: z
    .looseObject({
      defaults: z.looseObject({ unit: z.string().optional(), noValue: z.string().optional() }),
    })
    .optional(),
});
export type Panel = z.output<typeof panel>;

const variable = z.looseObject({ name: z.string(), type: z.string(), definition: z.string().optional() });

const dashboard = z.looseObject({
  uid: z.string(),
  schemaVersion: z.int(),
  annotations: z.object({ list: z.array(z.looseObject({ expr: z.string(), datasource })) }),
  templating: z.object({ list: z.array(variable) }),
  /** Those of a folded row are in it. */
  panels: z.array(panel.extend({ panels: z.array(panel).default([]) })),
});

/** The dashboard, with the panels of folded rows after them, and the titles of these. */
export function readDashboard() {
  const text = readFileSync(join(DASHBOARDS, 'grafana/dashboards/flinch.json'), 'utf8');
  const { panels: shown, ...rest } = dashboard.parse(JSON.parse(text));
  const folded = new Set(shown.flatMap(({ panels }) => panels.map(({ title }) => title)));
  return { ...rest, panels: shown.flatMap(({ panels, ...row }): Panel[] => [row, ...panels]), folded };
}

const rule = z.union([
  z.strictObject({ record: z.string(), expr: z.string() }),
  z.strictObject({
    alert: z.string(),
    expr: z.string(),
    for: z.string().optional(),
    labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
    annotations: z.strictObject({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
  }),
]);
const ruleFile = z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(rule) })) });

const rulesOf = (name: string) =>
  ruleFile.parse(parse(readFileSync(join(DASHBOARDS, name), 'utf8'))).groups.flatMap(({ rules }) => rules);

export const recordings = () => rulesOf('rules.yml').flatMap((each) => ('record' in each ? [each] : []));
export const alerts = () => rulesOf('alerts.yml').flatMap((each) => ('alert' in each ? [each] : []));

/** A query as Grafana sends it: all models, over two minutes. */
export const substituted = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '2m').replaceAll('$interval', '2m').replaceAll('$model', '.*');

/** Tests of the rules and alerts for promtool, as text. */
export const ruleTests = (): string =>
  readdirSync(TESTS)
    .filter((name) => name.endsWith('.rules.yml'))
    .map((name) => readFileSync(join(TESTS, name), 'utf8'))
    .join('\n');

/** `label="value"` of a selector. */
export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** The metrics of a query, each with the labels that select it: the rest without functions, keywords and ranges. */
export function selectorsOf(
  expression: string,
): { readonly name: string; readonly labels: readonly Matcher[] }[] {
  const bare = expression
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '')
    .replace(/\b(and|or|unless)\b/g, '');
  return [...bare.matchAll(/(?<![\w:.])([a-zA-Z_:][\w:]*)(?![\w:]|\s*\()(\{[^}]*\})?/g)].map(
    ([, name = '', labels = '']) => ({
      name,
      labels: [...labels.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
        ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
      ),
    }),
  );
}
