import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Plugin } from 'vitest/config';

/** How the sources name what their child processes and threads run. */
const ENTRY = /new URL\(`(\.\/(?:child\/)?main)\$\{extname\(import\.meta\.url\)\}`, import\.meta\.url\)/;

/** Next to node_modules/onnxruntime-node, which is not part of the bundle. */
const FOLDER = resolve('node_modules/.cache/flinch');

/** What bundled CommonJS packages call for Node's own modules. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/**
 * Has the engines of tests start their processes from one file, which esbuild makes of the sources: in a third of the
 * time that tsx takes to load them one by one. Tests start hundreds.
 */
export const bundledProcesses = (): Plugin => ({
  name: 'bundled-processes',
  enforce: 'pre',
  async transform(code, id) {
    const named = ENTRY.exec(code);
    if (!named) return null;
    const entry = fileURLToPath(new URL(`${named[1]}.ts`, pathToFileURL(id)));
    const outfile = resolve(FOLDER, `${basename(id, '.ts')}.mjs`);
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      conditions: ['flinch-source'],
      external: ['onnxruntime-node'],
      banner: { js: REQUIRE },
    });
    return code.replace(named[0], JSON.stringify(pathToFileURL(outfile).href));
  },
});
