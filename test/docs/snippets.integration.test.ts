import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { configSchema } from '#gateway/config/gateway-config.js';
import { flinch } from '../support/cli.js';
import { type Block, placeOf, programsOf, readDocuments } from '../support/documents.js';
import { REASONER } from '../support/golden.js';
import { useScratchPackages } from '../support/scratch-package.js';

const blocks = readDocuments().flatMap((document) => document.blocks);
const of = (...languages: string[]): Block[] => blocks.filter(({ language }) => languages.includes(language));
const scratch = useScratchPackages();

describe('blocks of code', () => {
  it('say what language they are in, so that none is left out here; "text" is none', () => {
    expect(blocks.filter(({ language }) => language === '').map(placeOf)).toEqual([]);
  });

  it('are right in their types', () => {
    const folder = scratch();
    const programs = readDocuments().flatMap((document) => programsOf(document.blocks));
    expect(programs.length).toBeGreaterThan(3);
    const files = programs.map((program, i) => {
      const name = `${i}-${placeOf(program).replaceAll(/\W/g, '-')}.${program.language}`;
      writeFileSync(join(folder, name), program.text);
      return name;
    });
    const tsconfig = {
      extends: resolve('tsconfig.json'),
      compilerOptions: {
        rootDir: '/',
        noEmit: true,
        allowJs: true,
        checkJs: true,
        lib: ['es2023', 'dom'],
        typeRoots: [resolve('node_modules/@types')],
      },
      include: files,
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
    const { stdout, status } = spawnSync(
      process.execPath,
      [resolve('node_modules/typescript/bin/tsc'), '-p', folder],
      { encoding: 'utf8' },
    );
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });

  it.each(of('json').map((block) => [placeOf(block), block] as const))('%s is JSON', (_place, { text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it.each(of('yaml').map((block) => [placeOf(block), block] as const))('%s is YAML', (_place, { text }) => {
    expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
  });
});

const model = z.looseObject({ checkpoint: z.string().optional(), scorer: z.string().optional() });
const config = z.looseObject({ models: z.record(z.string(), model).optional() });

/** Whether it is one for `flinch serve --config`. */
function isConfiguration({ text }: Block): boolean {
  const parts: unknown = parseAllDocuments(text).length === 1 ? parse(text) : null;
  const known = Object.keys(configSchema.shape);
  return (
    typeof parts === 'object' && parts !== null && Object.keys(parts).every((name) => known.includes(name))
  );
}

describe('configurations', () => {
  const configurations = of('yaml').filter(isConfiguration);

  it('are among the blocks', () => {
    expect(configurations.length).toBeGreaterThan(2);
  });

  it.each(configurations.map((block) => [placeOf(block), block] as const))(
    '%s could be served',
    async (_place, { text }) => {
      const { models, ...rest } = config.parse(parse(text));
      const file = join(scratch(), 'checked.yaml');
      writeFileSync(file, stringify({ ...rest, ...(models && { models: withFolders(models) }) }));
      const variables = [...text.matchAll(/\b(?:key_)?env: (\w+)/g)].map(([, name]) => [
        name,
        `${name}-0123456789abcdef`,
      ]);
      const outcome = await flinch(
        ['serve', '--config', file, '--check-config'],
        '',
        Object.fromEntries(variables),
      );
      expect(outcome).toMatchObject({ code: 0, stderr: '' });
    },
  );
});

/** Checkpoints of somebody else's machine are the embedded one here, which no server scores: nothing of it was exported. */
const withFolders = (models: Readonly<Record<string, z.output<typeof model>>>) =>
  Object.fromEntries(
    Object.entries(models).map(([name, { checkpoint, scorer, scorer_url: _, scorer_model: __, ...rest }]) => [
      name,
      {
        ...rest,
        ...(checkpoint !== undefined && { checkpoint: here(checkpoint) }),
        ...(scorer !== undefined && { scorer: here(scorer) }),
      },
    ]),
  );

const here = (folder: string): string => (existsSync(folder) ? folder : REASONER);
