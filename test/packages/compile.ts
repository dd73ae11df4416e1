import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installPackages, linkPackage } from '../support/installed-packages.js';
import type { Project } from './projects.js';

/** Declares what is used of Node, so that no other types are needed. */
const NODE = 'declare const process: { argv: string[] };\n';

/** That of this year, and one of two years ago. */
const COMPILERS = ['node_modules/typescript/bin/tsc', 'client/node_modules/typescript/bin/tsc'];

/** Each compiler, as runtimes and as bundlers resolve packages. */
export const COMPILATIONS = COMPILERS.flatMap((compiler) => [
  { compiler, module: 'nodenext', moduleResolution: 'nodenext' },
  { compiler, module: 'esnext', moduleResolution: 'bundler' },
]);

export const fileOf = (program: string): string => program.replaceAll(/\W+/g, '-');

export function install(folder: string, { sources, beside = [], programs }: Project): void {
  installPackages(folder, sources);
  for (const name of beside) linkPackage(folder, name);
  for (const [name, { program }] of Object.entries(programs))
    writeFileSync(join(folder, `${fileOf(name)}.ts`), `${NODE}${program}`);
}

/** Compiles all programs, which leaves a `.js` of each. @returns errors */
export function compile(
  folder: string,
  { options, newerTypes, programs }: Project,
  { compiler, ...modules }: (typeof COMPILATIONS)[number],
): string[] {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
    strict: true,
    // All declarations are checked but the compiler's own.
    skipLibCheck: false,
    skipDefaultLibCheck: true,
    ...modules,
    ...options,
  };
  const files = Object.keys(programs).map((name) => `${fileOf(name)}.ts`);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const args = [resolve(compiler), '-p', folder];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  // Other packages are linked: their paths begin here.
  return `${stdout}\n${stderr}`
    .split('\n')
    .filter((line) => line !== '' && !(newerTypes && line.startsWith('node_modules/')));
}
