import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const ranges = z.record(z.string(), z.string()).optional();
const manifestSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  workspaces: z.array(z.string()).optional(),
  scripts: ranges,
  dependencies: ranges,
  peerDependencies: ranges,
  devDependencies: ranges,
});

const parse = (folder: string): unknown => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const read = (folder: string) => ({ folder, ...manifestSchema.parse(parse(folder)) });

/** The packages of a repository, that of its root first. */
export function manifestsOf(root: string) {
  const first = read(root);
  return [first, ...(first.workspaces ?? []).map((folder) => read(join(root, folder)))];
}

/** Gives all packages a version, and exact ranges of each other the same. Other ranges, such as `file:.`, stay. */
export function setVersion(root: string, version: string): void {
  const manifests = manifestsOf(root);
  const old = new Map(manifests.map((manifest) => [manifest.name, manifest.version]));
  const inStep = ([name, range]: [string, string]) => [name, range === old.get(name) ? version : range];
  for (const { folder, ...manifest } of manifests) {
    const kinds = ['dependencies', 'peerDependencies', 'devDependencies'] as const;
    const changed = kinds.flatMap((kind) =>
      manifest[kind] ? [[kind, Object.fromEntries(Object.entries(manifest[kind]).map(inStep))]] : [],
    );
    // Spread into what the file has: its order stays.
    const json = { ...Object(parse(folder)), version, ...Object.fromEntries(changed) };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(json, null, 2)}\n`);
  }
}
