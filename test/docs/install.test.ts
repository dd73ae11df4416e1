import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readDocuments } from '../support/documents.js';
import { readManifest } from '../support/installed-packages.js';

const manifest = z.object({ allowScripts: z.record(z.string(), z.boolean()) });
const lockfile = z.object({
  packages: z.record(z.string(), z.object({ hasInstallScript: z.boolean().optional() })),
});
const read = <T extends z.ZodType>(schema: T, file: string) =>
  schema.parse(JSON.parse(readFileSync(file, 'utf8')));

const { allowScripts } = read(manifest, 'package.json');
const { packages } = read(lockfile, 'package-lock.json');

describe('npm ci, which must fetch nothing from outside the registry', () => {
  it('does not run the script of onnxruntime-node: neither npm 11, by allowScripts, nor npm 10, by the lockfile', () => {
    expect(allowScripts['onnxruntime-node']).toBe(false);
    expect(packages['node_modules/onnxruntime-node']).toBeDefined();
    expect(packages['node_modules/onnxruntime-node']?.hasInstallScript).toBeUndefined();
  });

  it('needs no setting that npm 11 warns of', () => {
    expect(existsSync('.npmrc')).toBe(false);
  });
});

describe('documents', () => {
  const { workspaces } = read(z.object({ workspaces: z.array(z.string()) }), 'package.json');
  const names = ['.', ...workspaces].map((folder) => readManifest(folder).name);

  it('tell nobody to install from the registry what is not there yet', () => {
    const commands = readDocuments().flatMap(({ file, blocks, codeSpans }) =>
      [...blocks.flatMap(({ text }) => text.split('\n')), ...codeSpans]
        .filter((line) => /\bnpm (install|i|add)\b/.test(line))
        .map((line) => [file, line.split(/\s+/)] as const),
    );
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter(([, words]) => words.some((word) => names.includes(word)))).toEqual([]);
  });
});
