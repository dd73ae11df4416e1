import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { transformSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScript, useFolder } from '../support/cli.js';
import { COMPILED, compile, installPackages, linkPackage } from '../support/installed-packages.js';

const folder = useFolder().path('');
const installed = (...path: string[]): string => join(folder, 'node_modules', ...path);

describe('flinch-ai-sdk and flinch-react, installed from their tarballs', () => {
  beforeAll(() => {
    installPackages(folder, ['client', 'client/ai-sdk', 'client/react']);
    for (const name of ['react', 'react-dom', '@types/react', '@types/react-dom', 'ai', '@ai-sdk/provider'])
      linkPackage(folder, name);
  });

  it.each(['flinch-ai-sdk', 'flinch-react'])('%s has licence, README, types, no sources, no maps', (name) => {
    const files = readdirSync(installed(name), { recursive: true, encoding: 'utf8' });
    const expected = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts'];
    expect(files).toEqual(expect.arrayContaining(expected));
    expect(
      files.filter((file) => /\.map$|\.tsbuildinfo$|node_modules|src|demo|tsx?config/.test(file)),
    ).toEqual([]);
  });

  it('have types, with those of the AI SDK, and run', async () => {
    const program = `import type { LanguageModelV3Middleware } from '@ai-sdk/provider';
      import { createUIMessageStream, type LanguageModelMiddleware, type UIMessage } from 'ai';
      import { type FlinchDataParts, flinchMetadata, flinchMiddleware } from 'flinch-ai-sdk';
      import { FlaggedText } from 'flinch-react';
      import 'flinch-react/style.css';
      import { createElement } from 'react';
      import { renderToStaticMarkup } from 'react-dom/server';

      const middleware: LanguageModelMiddleware & LanguageModelV3Middleware = flinchMiddleware();
      // @ts-expect-error: no action has this name
      flinchMiddleware({ guard: { action: 'none' } });
      createUIMessageStream<UIMessage<unknown, FlinchDataParts>>({
        execute: ({ writer }) => {
          flinchMiddleware({ onData: (part) => writer.write(part) });
          // @ts-expect-error: a step is more than this
          writer.write({ type: 'data-flinch-step', data: { step: 0 } });
        },
      });
      const flagged: boolean | null | undefined = flinchMetadata({})?.verdict.flagged;
      console.log(middleware.specificationVersion, flagged);
      console.log(renderToStaticMarkup(createElement(FlaggedText, { text: 'One', steps: [], verdict: null })));
    `;
    expect(compile(folder, program, { skipLibCheck: true })).toEqual(COMPILED);
    // A style is for bundlers.
    const script = join(folder, 'program.js');
    writeFileSync(script, readFileSync(script, 'utf8').replace(/import 'flinch-react\/style.css';/, ''));
    const outcome = await startScript(script, []).finished;
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toMatch(/^v3 undefined\n<div class="flinch">.*One.*not judged yet/);
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
