import { afterEach, expect, it, vi } from 'vitest';
import { defaultModels, prepareModel } from '#lab/speed/speed-models.js';
import { useFolder } from '../../support/cli.js';
import { pretend } from '../../support/fake-peers.js';

const folder = useFolder();
afterEach(() => void vi.unstubAllEnvs());

const OPTIONS = { peers: [], formats: [], python: 'python3', temperature: 0, temporary: folder.path('t') };

it('measures the Qwen models that are set up, else random weights', async () => {
  const root = folder.path('peers');
  vi.stubEnv('FLINCH_PEERS', root);
  expect(defaultModels()).toEqual(['135m']);
  await pretend(root, 'qwen-1.5b');
  expect(defaultModels()).toEqual(['qwen-1.5b']);
  await pretend(root, 'qwen-0.5b');
  expect(defaultModels()).toEqual(['qwen-0.5b', 'qwen-1.5b']);
});

it('says how a model is set up that is not', async () => {
  vi.stubEnv('FLINCH_PEERS', folder.path('nothing'));
  await expect(prepareModel('qwen-0.5b', OPTIONS)).rejects.toThrow('npm run lab -- peers up qwen-0.5b');
});
