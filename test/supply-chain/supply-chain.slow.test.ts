import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = resolve('.');
const npm = (...args: readonly string[]) =>
  // npm is no program of ours: it does not run from the sources.
  spawnSync('npm', args, { cwd: root, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } });

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      link: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});
const installed = Object.entries(
  lock.parse(JSON.parse(readFileSync('package-lock.json', 'utf8'))).packages,
).flatMap(([path, about]) => {
  const name = path.split('node_modules/').at(-1);
  return path.includes('node_modules/') && !about.link ? [{ ...about, path, name: name ?? '' }] : [];
});
const shipped = installed.filter(({ dev }) => !dev);

/** Licences that ask for no more than their own text. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

/** Whether an expression of SPDX, of one level, leaves a choice of allowed licences. */
const isAllowed = (license = ''): boolean =>
  license
    .replace(/^\(|\)$/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((each) => ALLOWED.has(each)));

describe('licences', () => {
  const refused = (packages: typeof installed): string[] =>
    packages.flatMap(({ name, license }) => (isAllowed(license) ? [] : [`${name}: ${license}`]));

  it('are read as expressions', () => {
    const expressions = [
      'MIT',
      '(MPL-2.0 OR Apache-2.0)',
      'Apache-2.0 AND MIT',
      'MIT AND GPL-3.0',
      'GPL-3.0',
      '',
    ];
    expect(expressions.map(isAllowed)).toEqual([true, true, true, false, false, false]);
  });

  it('of what is installed with flinch are allowed', () => {
    expect(shipped.length).toBeGreaterThan(100);
    expect(refused(shipped)).toEqual([]);
  });

  it('of what the page contains are allowed, too', async () => {
    const { metafile } = await build({
      entryPoints: ['web/main.tsx', 'web/style.css', 'web/formulas.css'],
      outdir: 'dist/web',
      bundle: true,
      write: false,
      metafile: true,
      splitting: true,
      format: 'esm',
      target: 'es2023',
      conditions: ['flinch-source'],
      jsx: 'automatic',
      logLevel: 'silent',
      alias: { react: 'preact/compat', 'react-dom': 'preact/compat' },
      loader: { '.woff2': 'file', '.woff': 'empty', '.ttf': 'empty' },
    });
    const names = new Set(
      Object.keys(metafile.inputs).flatMap(
        (input) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [],
      ),
    );
    expect(names).toContain('katex');
    expect(refused(installed.filter(({ name }) => names.has(name)))).toEqual([]);
  });
});

describe('packages', () => {
  it('all support this version of Node', () => {
    const { status, stderr } = npm('ci', '--dry-run', '--engine-strict', '--offline', '--ignore-scripts');
    expect(stderr).not.toMatch(/npm error/);
    expect(status).toBe(0);
  });

  it('have install scripts only where nothing depends on them', () => {
    const scripts = installed.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
    expect(scripts.toSorted()).toEqual(['@swc/core', 'esbuild', 'koffi']);
  });

  it('have no known vulnerability of a high degree (skipped where the registry does not say)', (context) => {
    const { stdout } = npm('audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000');
    const report = z
      .object({
        vulnerabilities: z.record(z.string(), z.object({ severity: z.string() })).optional(),
        message: z.string().optional(),
      })
      .parse(JSON.parse(stdout || '{}'));
    const { vulnerabilities } = report;
    if (!vulnerabilities) {
      return context.skip(`no audit: ${report.message ?? 'the registry did not answer'}`);
    }
    const high = Object.entries(vulnerabilities).filter(([, { severity }]) =>
      /^(high|critical)$/.test(severity),
    );
    expect(high.map(([name]) => name)).toEqual([]);
  });
});
