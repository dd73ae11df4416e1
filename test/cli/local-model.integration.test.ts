import { mkdirSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '#lab/free-port.js';
import { flinch, useFolder } from '../support/cli.js';
import { HubDouble } from '../support/hub-double.js';

const folder = useFolder();
const hub = new HubDouble();
await hub.listen();
const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: folder.path('cache'), HF_TOKEN: '', HF_HUB_OFFLINE: '' };

beforeEach(() => {
  hub.asked.length = 0;
});

describe('a model that is not there', () => {
  it.each([
    '/no/such',
    './none',
    '../no/ne',
    '~/none',
    'a/b/c',
    'none',
    'models/none.gguf',
    'models/none.GGUF',
  ])('is not asked for at the hub if it looks like a path: %s', async (model) => {
    const { code, stderr } = await flinch(['chat', '--model', model, 'Hi'], '', env);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/: no such file or folder\n$/),
    });
    expect(hub.asked).toEqual([]);
  });

  it.each([
    ['Qwen2.5-Coder', ['Qwen/Qwen2.5-0.5B-Instruct', 'Qwen/Qwen2.5-1.5B-Instruct']],
    ['llama-3.2', ['meta-llama/Llama-3.2-1B-Instruct', 'meta-llama/Llama-3.2-3B-Instruct']],
  ])('is named with models of the hub that are like it: %s', async (model, near) => {
    const { code, stderr } = await flinch(['chat', '--model', model, 'Hi'], '', env);
    const commands = near.map((each) => `  flinch chat --model ${each}\n`).join('');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `flinch: ${model}: no such file or folder; on the hub (flinch pull --list) there are:\n${commands}`,
    });
    expect(hub.asked).toEqual([]);
  });

  it('is said not to come without a network, with what helps', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await flinch(['serve', '--model', 'a/b', '--port', '0'], '', {
      ...env,
      HF_ENDPOINT: nowhere,
    });
    expect(code).toBe(1);
    expect(stderr).toContain('a/b: no such file or folder, and from the hub: ');
    expect(stderr).toContain(`no network to ${nowhere} (`);
    expect(stderr).toContain(
      '; HF_ENDPOINT sets a mirror of the hub\n  files of your own: flinch serve --model PATH\n',
    );
  });
});

describe('a folder of GGUF files', () => {
  mkdirSync(folder.path('models'));
  for (const name of ['q8.gguf', 'q4.gguf', "it's.gguf", 'README.md']) folder.write(`models/${name}`, '');
  const place = folder.path('models');

  it.each([
    [['chat', '--model', place, 'Hi'], 'flinch chat --model'],
    [['calibrate', '--model', place], 'flinch calibrate --model'],
  ])('is refused with the command for each of them: %j', async (args, command) => {
    const { code, stderr } = await flinch(args, '', env);
    const commands = [`'${place}/it'\\''s.gguf'`, `${place}/q4.gguf`, `${place}/q8.gguf`].map(
      (file) => `  ${command} ${file}\n`,
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `flinch: ${place} has GGUF files, each of which is a model:\n${commands.join('')}`,
    });
  });
});
