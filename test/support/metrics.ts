import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { METRICS } from '#gateway/metrics/reference.js';

type Labels = Readonly<Record<string, string>>;

export interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Result of a scrape. */
export class Scrape {
  readonly text: string;
  readonly series: readonly Series[];

  /** @param text in the classic format */
  constructor(text: string) {
    this.text = text;
    this.series = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(seriesOf);
  }

  static async of(url: string): Promise<Scrape> {
    return new Scrape(await (await fetch(url)).text());
  }

  /** Sum of the series of this name that have these labels; fails where there is none. */
  sum(name: string, labels: Labels = {}): number {
    const fit = this.series.filter(
      (each) =>
        each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
    );
    expect(fit, `series of ${name}${JSON.stringify(labels)}`).not.toEqual([]);
    return fit.reduce((sum, { value }) => sum + value, 0);
  }

  /** How much more of it there is than at an earlier scrape, where it may not have been at all. */
  since(before: Scrape, name: string, labels: Labels = {}): number {
    const was = before.series.some((each) => each.name === name) ? before.sum(name, labels) : 0;
    return this.sum(name, labels) - was;
  }

  get names(): Set<string> {
    return new Set([...this.text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
  }
}

function seriesOf(line: string): Series {
  const [, name = '', pairs = '', value = ''] = /^([a-zA-Z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  expect(name, line).not.toBe('');
  const labels = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [
    key,
    text,
  ]);
  const number =
    { '+Inf': Number.POSITIVE_INFINITY, '-Inf': Number.NEGATIVE_INFINITY }[value] ?? Number(value);
  return { name, labels: Object.fromEntries(labels), value: number };
}

/** Fails for a label that the reference does not have, or that says something that is not in its set. */
export function expectClosedLabels({ series }: Scrape): void {
  const own = series.filter(({ name }) => /^(flinch|gen_ai)_/.test(name));
  expect(own.length).toBeGreaterThan(200);
  for (const { name, labels } of own) {
    const metric = name.replace(/_(bucket|sum|count)$/, '');
    const definition = Object.values(METRICS)
      .flat()
      .find((each) => each.name === metric);
    const known: Readonly<Record<string, unknown>> = { ...definition?.labels, le: 'a bound' };
    for (const [label, text] of Object.entries(labels)) {
      const values = known[label];
      expect(values, `${label} of ${name}`).toBeDefined();
      if (Array.isArray(values)) expect(values).toContain(text);
    }
  }
}

/** Why what promtool says cannot be asked here, or `null`. */
export const withoutPromtool: string | null =
  spawnSync('promtool', ['--version']).status === 0 ? null : 'promtool is not installed';

/** Problems that `promtool check metrics` finds in a text in the classic format. */
export function promtoolProblems(text: string): string[] {
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
  return lines.length > 0 || status === 0 ? lines : [`status ${status}`];
}
