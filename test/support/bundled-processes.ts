import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin as BundlerPlugin, build } from 'esbuild';
import type { Plugin } from 'vitest/config';

/** Programs of processes: the command, and the entries that the sources name with {@link ENTRY}. */
const ENTRIES = [
  'cli/main.ts',
  'cli/serve/reload-process.ts',
  'lab/src/main.ts',
  'src/engine/child/main.ts',
  'src/engine/text/main.ts',
  'gateway/workers/worker.ts',
  'bench/src/encoder/child/main.ts',
  ...['ends-with-parent', 'fast-upstream', 'null-proxy'].map((name) => `lab/src/gateway/${name}.ts`),
];

/** How the sources name what their processes run. */
const ENTRY = /new URL\(`(\.\/[^`]+)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/;

/** How the sources load packages that may not be installed. */
const OPTIONAL_PACKAGE = /import\(([A-Z]+)_PACKAGE\)/g;

/** Definition of the `require` that bundled CommonJS packages call for Node's own modules. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/**
 * Makes the processes of tests run files that esbuild makes of the sources, once a run: they start with a third of the
 * processor time that tsx takes to load the sources one by one. Tests start hundreds.
 */
export const bundledProcesses = (): Plugin => ({
  name: 'bundled-processes',
  enforce: 'pre',
  async transform(code, id) {
    return ENTRY.test(code) ? nameBundles(code, id, await bundles()) : null;
  },
});

let made: Promise<string> | undefined;

/** The folder of the bundles, which is removed with this process. */
function bundles(): Promise<string> {
  made ??= bundle();
  return made;
}

async function bundle(): Promise<string> {
  // Next to node_modules/onnxruntime-node, which is not part of the bundles.
  const cache = resolve('node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'flinch-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await build({
    entryPoints: ENTRIES,
    outdir: folder,
    outbase: '.',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    conditions: ['flinch-source'],
    external: ['onnxruntime-node'],
    banner: { js: REQUIRE },
    plugins: [inPlace(folder)],
  });
  return folder;
}

/** Modules find the files beside them as if they were not bundled. */
const inPlace = (folder: string): BundlerPlugin => ({
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const code = await readFile(path, 'utf8');
      const contents = nameBundles(code, path, folder)
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replace(OPTIONAL_PACKAGE, (_, name: string) => `import('flinch-${name.toLowerCase()}')`);
      return { contents, loader: 'ts' };
    });
  },
});

const nameBundles = (code: string, path: string, folder: string): string =>
  code.replace(ENTRY, (_, entry: string) => {
    const module = pathToFileURL(join(folder, relative('.', path))).href;
    return `new URL(\`${entry}.mjs\`, ${JSON.stringify(module)})`;
  });
