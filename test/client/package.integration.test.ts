import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScript, useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { bytesOf, COMPILED, compile, installPackages, linkPackage } from '../support/installed-packages.js';

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
const withRxjs = useFolder().path('');
const gateway = useGateway();

const HEAD = `import { answerOf, answerText, FlinchClient } from 'flinch-client';
const client = new FlinchClient({ url: process.argv[2] ?? '' });
const messages = [{ role: 'user', content: 'What is 12 + 30 - 5? Explain each step.' }] as const;
const events = client.generate({ model: 'reasoner', messages, temperature: 0 });
`;
const ALONE = `${HEAD}
const types: string[] = [];
await events.forEach((event) => {
  if (event.type === 'token.delta') types.push(event.text);
  // @ts-expect-error: no event has this type
  if (event.type === 'none') console.log(event);
});
let text: string = '';
await events.pipe(answerOf()).forEach((answer) => {
  text = answerText(answer);
  // @ts-expect-error: a number or null
  const risk: string = answer.steps[0]?.risk ?? 0;
});
// @ts-expect-error: a string
const id: number = text;
client.close();
console.log(text === types.join('') ? text : 'two texts');
`;
const WITH_RXJS = `${HEAD}
import { filter, firstValueFrom, lastValueFrom, map, type Observable, timeout } from 'rxjs';

const texts: Observable<string> = events.pipe(answerOf(), map(answerText), timeout(60_000));
const text: string = await lastValueFrom(texts);
const first = await firstValueFrom(events.pipe(filter(({ type }) => type === 'generation.created'), map(({ type }) => type)));
// @ts-expect-error: a string
const id: number = first;
const { status } = await firstValueFrom(client.state);
client.close();
console.log(status === 'open' && first === 'generation.created' ? text : 'wrong');
`;

describe('flinch-client, installed from its tarball', () => {
  beforeAll(() => {
    installPackages(alone, ['client']);
    installPackages(withRxjs, ['client']);
    linkPackage(withRxjs, 'rxjs');
  });

  it('takes at most 3 MB with all of its dependencies', () => {
    expect(bytesOf(join(alone, 'node_modules'))).toBeLessThan(3e6);
  });

  it.each([
    ['alone', alone, ALONE],
    ["with the application's rxjs", withRxjs, WITH_RXJS],
  ])(
    'has types and runs %s',
    async (_how, folder, program) => {
      expect(compile(folder, program)).toEqual(COMPILED);
      const script = join(folder, 'program.js');
      const outcome = await startScript(script, [gateway.url]).finished;
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      expect(outcome.stdout).toContain('37');
    },
    300_000,
  );

  it('is found by a bundler for browsers, without anything of Node', async () => {
    writeFileSync(join(alone, 'page.js'), "export { FlinchClient } from 'flinch-client';");
    const code = await bundle(join(alone, 'page.js'));
    expect(new TextDecoder().decode(code)).not.toMatch(/["']node:|from ?["']ws["']/);
    expect(gzipSync(code).length).toBeLessThan(25_000);
  });

  it('gives its schemas to who has zod', async () => {
    linkPackage(withRxjs, 'zod');
    const program = `import { GENERATION_EVENTS, readEvent } from 'flinch-client/protocol';
      import { toJSONSchema } from 'zod';
      const { properties } = toJSONSchema(GENERATION_EVENTS['token.delta']);
      const event = readEvent('{"type": "heartbeat"}');
      // @ts-expect-error: a string
      const type: number = event.type;
      console.log(event.type, Object.keys(properties ?? {}).length);
    `;
    expect(compile(withRxjs, program)).toEqual(COMPILED);
    const outcome = await startScript(join(withRxjs, 'program.js'), []).finished;
    expect(outcome).toMatchObject({ code: 0, stdout: 'heartbeat 12\n' });
  });
});
