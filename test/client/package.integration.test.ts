import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

/** As a browser would load it; fails at an import that a browser does not have. */
async function bundle(entry: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  });
  return outputFiles[0]!.contents;
}

describe('the client as a package', () => {
  it('is in Node what sends its key with the handshake', async () => {
    const { FlinchClient, answerOf } = await import('flinch/client');
    const { FlinchClient: own } = await import('#client/node.js');
    expect(FlinchClient).toBe(own);
    expect(answerOf).toBeTypeOf('function');
  });

  it('needs nothing of Node in browsers, and little room', async () => {
    const code = await bundle('client/src/index.ts');
    expect(new TextDecoder().decode(code)).not.toMatch(/["']node:/);
    expect(gzipSync(code).length).toBeLessThan(25_000);
    expect(gzipSync(await bundle('gateway/web/main.ts')).length).toBeLessThan(40_000);
  });
});
