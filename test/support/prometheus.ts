import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from '#lab/free-port.js';
import { DASHBOARDS } from './dashboards.js';

/** Whether Debian's package `prometheus`, or another, is installed; `.ci/run` does that where it can. */
export const hasPrometheus = ['prometheus', 'promtool'].every(
  (command) => spawnSync(command, ['--version']).status === 0,
);

const sample = z.object({
  metric: z.record(z.string(), z.string()),
  value: z.tuple([z.number(), z.string()]).transform(([, text]) => Number(text)),
});
export type Sample = z.output<typeof sample>;

const scalar = z.object({ resultType: z.literal('vector'), result: z.array(sample) });

const rule = z.looseObject({
  name: z.string(),
  health: z.string(),
  lastError: z.string().optional(),
  lastEvaluation: z.coerce.date(),
});
const groups = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) });

const exemplars = z.array(
  z.object({ exemplars: z.array(z.object({ labels: z.record(z.string(), z.string()) })) }),
);

const config = z.looseObject({
  global: z.looseObject({ scrape_interval: z.string(), evaluation_interval: z.string() }),
  rule_files: z.array(z.string()),
  scrape_configs: z.array(
    z.looseObject({ static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
  ),
});

/** How often metrics are read, and rules evaluated. */
const INTERVAL_S = 1;

/** A Prometheus with the configuration of dashboards/, which scrapes one gateway every {@link INTERVAL_S}. */
export class Prometheus {
  readonly #child: ChildProcess;
  readonly url: string;
  readonly #folder: string;

  private constructor(child: ChildProcess, url: string, folder: string) {
    this.#child = child;
    this.url = url;
    this.#folder = folder;
  }

  /** @param metricsUrl `http://127.0.0.1:…/metrics` */
  static async start(metricsUrl: string): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'flinch-prometheus-'));
    const file = join(DASHBOARDS, 'prometheus.yml');
    const { global, rule_files, scrape_configs, ...rest } = config.parse(parse(readFileSync(file, 'utf8')));
    const changed = {
      ...rest,
      global: { ...global, scrape_interval: `${INTERVAL_S}s`, evaluation_interval: `${INTERVAL_S}s` },
      rule_files: rule_files.map((name) => resolve(dirname(file), name)),
      scrape_configs: scrape_configs.map((each) => ({
        ...each,
        static_configs: [{ targets: [new URL(metricsUrl).host] }],
      })),
    };
    writeFileSync(join(folder, 'prometheus.yml'), stringify(changed));
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
        '--enable-feature=exemplar-storage',
        '--log.level=warn',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const prometheus = new Prometheus(child, `http://${address}`, folder);
    let log = '';
    child.stderr?.on('data', (data) => (log += data));
    for (let i = 0; i < 3000; i++) {
      const ready = await fetch(`http://${address}/-/ready`).catch(() => null);
      if (ready?.ok) return prometheus;
      if (child.exitCode !== null) break;
      await setTimeout(10);
    }
    await prometheus.close();
    throw new Error(`prometheus did not start: ${log}`);
  }

  /** Waits until the metrics have been scraped after this moment, and then the rules of all groups evaluated. */
  async caughtUp(): Promise<void> {
    const now = Date.now() / 1000;
    await vi.waitFor(async () => {
      if ((await this.query(`timestamp(flinch_build_info) > ${now}`)).length === 0)
        throw new Error('not read');
    }, 60_000);
    // One that began late is of the moment when it should have begun, which is less than an interval ago.
    const read = Date.now() + INTERVAL_S * 1000;
    await vi.waitFor(async () => {
      for (const { name, lastEvaluation } of await this.rules()) {
        if (lastEvaluation.getTime() <= read) throw new Error(`${name} was not evaluated`);
      }
    }, 60_000);
  }

  async query(expression: string): Promise<readonly Sample[]> {
    return scalar.parse(await this.#get('query', { query: expression })).result;
  }

  async rules(): Promise<readonly z.output<typeof rule>[]> {
    return groups.parse(await this.#get('rules')).groups.flatMap((group) => group.rules);
  }

  async labelValues(label: string, series: string): Promise<readonly string[]> {
    return z.array(z.string()).parse(await this.#get(`label/${label}/values`, { 'match[]': series }));
  }

  /** Labels of the exemplars of the last hour. */
  async exemplars(series: string): Promise<readonly Readonly<Record<string, string>>[]> {
    const now = Date.now() / 1000;
    const range = { start: String(now - 3600), end: String(now + 60) };
    const found = exemplars.parse(await this.#get('query_exemplars', { query: series, ...range }));
    return found.flatMap((each) => each.exemplars).map(({ labels }) => labels);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #get(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const body = z
      .object({ status: z.string(), error: z.string().optional(), data: z.unknown() })
      .parse(await response.json());
    if (body.status !== 'success') throw new Error(`${parameters.query ?? path}: ${body.error}`);
    return body.data;
  }
}
