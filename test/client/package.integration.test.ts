import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { bytesOf, installPackages } from '../support/installed-packages.js';

/** As a browser would load it; fails at an import that a browser does not have. */
async function bundle(entry: string, conditions: string[] = []): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions,
  });
  return outputFiles[0]!.contents;
}

describe('the client in this repository', () => {
  it('is in Node what sends its key with the handshake', async () => {
    const { FlinchClient, answerOf } = await import('flinch/client');
    const { FlinchClient: own } = await import('#client/node.js');
    expect(FlinchClient).toBe(own);
    expect(answerOf).toBeTypeOf('function');
  });

  it('needs nothing of Node in browsers, and little room', async () => {
    const sources = ['flinch-source'];
    const code = await bundle('client/src/index.ts', sources);
    expect(new TextDecoder().decode(code)).not.toMatch(/["']node:/);
    expect(gzipSync(code).length).toBeLessThan(25_000);
  });

  it('is a small part of the page, which loads formulas only where there are some', () => {
    const sizes = ['main.js', 'style.css'].map(
      (name) => gzipSync(readFileSync(join('dist/web', name))).length,
    );
    expect(Math.max(...sizes)).toBeLessThan(120_000);
    expect(readFileSync('dist/web/main.js', 'utf8')).not.toContain('katex-html');
  });
});

const alone = useFolder().path('');

describe('flinch-client, installed from its tarball', () => {
  beforeAll(() => installPackages(alone, ['client']));

  it('takes at most 3 MB with all of its dependencies', () => {
    expect(bytesOf(join(alone, 'node_modules'))).toBeLessThan(3e6);
  });

  it('is found by a bundler for browsers, without anything of Node', async () => {
    writeFileSync(join(alone, 'page.js'), "export { FlinchClient } from 'flinch-client';");
    const code = await bundle(join(alone, 'page.js'));
    expect(new TextDecoder().decode(code)).not.toMatch(/["']node:|from ?["']ws["']/);
    expect(gzipSync(code).length).toBeLessThan(25_000);
  });
});
