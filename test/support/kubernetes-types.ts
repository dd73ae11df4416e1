import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Modules of kubernetes-types that declare each kind. */
const MODULES: Readonly<Record<string, string>> = {
  ConfigMap: 'core/v1',
  Deployment: 'apps/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  Job: 'batch/v1',
  NetworkPolicy: 'networking/v1',
  PersistentVolumeClaim: 'core/v1',
  PodDisruptionBudget: 'policy/v1',
  Secret: 'core/v1',
  Service: 'core/v1',
  StatefulSet: 'apps/v1',
};
/** The core group has no name; others are called by one that may end in a domain. */
export const apiVersionOf = (kind: string): string =>
  (MODULES[kind] ?? '').replace(/^core\//, '').replace(/^networking\//, 'networking.k8s.io/');

export const anyObject = z.looseObject({ apiVersion: z.string(), kind: z.string() });
export type AnyObject = z.output<typeof anyObject>;

/** Compiler errors of objects against Kubernetes' types, unknown fields included; empty if they fit. */
export function misfits(objects: readonly AnyObject[]): string {
  const folder = temporary();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const kinds = [...new Set(objects.map(({ kind }) => kind))];
  const imports = kinds.map((kind) => `import type { ${kind} } from 'kubernetes-types/${MODULES[kind]}';`);
  const checks = objects.map((object) => `(${JSON.stringify(object)}) satisfies ${object.kind};`);
  const file = join(folder, 'objects.ts');
  writeFileSync(file, [...imports, ...checks].join('\n'));
  const options = ['--noEmit', '--strict', '--module', 'esnext', '--moduleResolution', 'bundler'];
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [
    tsc,
    ...options,
    '--ignoreConfig',
    '--types',
    '',
    file,
  ]).stdout.toString();
}

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-kubernetes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
