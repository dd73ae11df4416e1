import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';

const listing = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]);

const packed = new Map<string, readonly string[]>();

/** The paths of what `npm publish` would send of a folder, which tests do not change. npm is asked once. */
export function packedFiles(folder = '.'): readonly string[] {
  const cwd = resolve(folder);
  const files = packed.get(cwd) ?? askNpm(cwd);
  packed.set(cwd, files);
  return files;
}

function askNpm(cwd: string): string[] {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent'];
  // npm is no program of ours: it does not run from the sources.
  const options = { cwd, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } } as const;
  const [{ files }] = listing.parse(JSON.parse(execFileSync('npm', args, options)));
  return files.map(({ path }) => path);
}

const manifestSchema = z.object({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
});
export const readManifest = (folder: string): z.output<typeof manifestSchema> =>
  manifestSchema.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));

/**
 * Installs packages of this repository into `folder`, without a network: a copy of what their tarballs hold, next to
 * links to their direct dependencies. Nothing else of this repository can be found from there.
 * @param sources their folders, such as `client`; after those that they depend on
 */
export function installPackages(folder: string, sources: readonly string[]): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  for (const source of sources) {
    const { name, dependencies } = readManifest(source);
    for (const path of packedFiles(source)) cpSync(join(source, path), join(modules, name, path));
    for (const dependency of Object.keys(dependencies)) linkPackage(folder, dependency);
  }
}

/** Links a package that is installed in this repository into `folder`, unless `folder` has it. */
export function linkPackage(folder: string, name: string): void {
  const path = join(folder, 'node_modules', name);
  if (lstatSync(path, { throwIfNoEntry: false })) return;
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(resolve('node_modules', name), path, 'junction');
}

/** Bytes of all files below a folder, those behind links included. */
export const bytesOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isFile() ? lstatSync(path).size : bytesOf(path));
  }, 0);
