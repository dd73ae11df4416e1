import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { alerts, DASHBOARDS } from '../support/dashboards.js';
import { hasPrometheus } from '../support/prometheus.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const cases = readdirSync(here).filter((name) => name.endsWith('.rules.yml'));
const documentOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8');
const runbooks = documentOf('runbooks.md');
const reading = documentOf('how-to/read-the-dashboard.md');

function promtool(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
}

describe.skipIf(!hasPrometheus)('promtool (skipped where Prometheus is not installed)', () => {
  it('takes the configuration with its rules', () => {
    promtool('check', 'config', '--lint=all', '--lint-fatal', join(DASHBOARDS, 'prometheus.yml'));
    for (const file of ['rules.yml', 'alerts.yml']) {
      promtool('check', 'rules', '--lint=all', '--lint-fatal', join(DASHBOARDS, file));
    }
  });

  it.each(cases)('finds the alerts that are expected, and no others: %s', (name) => {
    promtool('test', 'rules', join(here, name));
  });
});

describe('alerts', () => {
  const names = alerts().map(({ alert }) => alert);

  it('have a case in which they fire', () => {
    const text = cases.map((name) => readFileSync(join(here, name), 'utf8')).join('');
    const fired = [...text.matchAll(/ALERTS\{alertname="(\w+)",alertstate="firing",severity="/g)];
    expect(new Set(fired.map(([, name]) => name))).toEqual(new Set(names));
  });

  it('have a section of their own in the runbooks, which has no other', () => {
    const sections = [...runbooks.matchAll(/^## (.*)$/gm)].map(([, name]) => name);
    expect(sections.toSorted()).toEqual(names.toSorted());
    for (const { alert, annotations } of alerts()) {
      expect(annotations.runbook_url).toBe(
        `{{ $externalLabels.flinch_docs }}/runbooks.md#${alert.toLowerCase()}`,
      );
      const [, section = ''] = runbooks.split(`\n## ${alert}\n`);
      const [own] = section.split('\n## ');
      for (const part of ['**Meaning.**', '**Look.**', '**Do.**']) expect(own).toContain(part);
    }
  });

  it('lead from a panel to a runbook that there is', () => {
    const dashboard = readFileSync(join(DASHBOARDS, 'grafana/dashboards/flinch.json'), 'utf8');
    for (const [name] of dashboard.matchAll(/\bFlinch[A-Z]\w+/g)) expect(names).toContain(name);
  });

  it.each([
    ['their runbooks', runbooks],
    ['how to read the dashboard', reading],
  ])('name panels in %s that there are', (_, text) => {
    const dashboard = readFileSync(join(DASHBOARDS, 'grafana/dashboards/flinch.json'), 'utf8');
    const panels = [...text.matchAll(/\*([A-Z][^*]+)\*(?!\*)/g)].map(([, title]) => title);
    expect(panels.length).toBeGreaterThan(8);
    for (const title of panels.filter((each) => !each?.endsWith('.'))) {
      expect(dashboard).toContain(`"title": "${title}`);
    }
  });
});
