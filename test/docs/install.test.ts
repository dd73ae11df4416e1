import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const manifest = z.object({ allowScripts: z.record(z.string(), z.boolean()) });
const lockfile = z.object({
  packages: z.record(z.string(), z.object({ hasInstallScript: z.boolean().optional() })),
});
const read = <T extends z.ZodType>(schema: T, file: string) =>
  schema.parse(JSON.parse(readFileSync(file, 'utf8')));

const { allowScripts } = read(manifest, 'package.json');
const { packages } = read(lockfile, 'package-lock.json');

describe('npm ci, which must fetch nothing from outside the registry', () => {
  it('does not run the script of onnxruntime-node: neither npm 11, by allowScripts, nor npm 10, by the lockfile', () => {
    expect(allowScripts['onnxruntime-node']).toBe(false);
    expect(packages['node_modules/onnxruntime-node']).toBeDefined();
    expect(packages['node_modules/onnxruntime-node']?.hasInstallScript).toBeUndefined();
  });

  it('needs no setting that npm 11 warns of', () => {
    expect(existsSync('.npmrc')).toBe(false);
  });
});
