import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { transformSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { installPackages } from '../support/installed-packages.js';

const folder = useFolder().path('');
const installed = (...path: string[]): string => join(folder, 'node_modules', ...path);

describe('flinch-ai-sdk and flinch-react, installed from their tarballs', () => {
  beforeAll(() => installPackages(folder, ['client', 'client/ai-sdk', 'client/react']));

  it.each(['flinch-ai-sdk', 'flinch-react'])('%s has licence, README, types, no sources, no maps', (name) => {
    const files = readdirSync(installed(name), { recursive: true, encoding: 'utf8' });
    const expected = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts'];
    expect(files).toEqual(expect.arrayContaining(expected));
    expect(
      files.filter((file) => /\.map$|\.tsbuildinfo$|node_modules|src|demo|tsx?config/.test(file)),
    ).toEqual([]);
  });

  it('take little room: the component with its style, and nothing but React beside it', () => {
    const code = readFileSync(installed('flinch-react/dist/index.js'), 'utf8');
    const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(imported)).toEqual(new Set(['react', 'react/jsx-runtime']));
    const style = readFileSync(installed('flinch-react/style.css'), 'utf8');
    const minified = [
      transformSync(code, { minify: true }).code,
      transformSync(style, { loader: 'css', minify: true }).code,
    ];
    expect(gzipSync(minified.join('')).length).toBeLessThan(10_000);
  });
});
