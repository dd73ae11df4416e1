import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { reasonerPath } from '#src/package-root.js';
import { flinch, start } from '../support/cli.js';
import { HubDouble } from '../support/hub-double.js';

const cache = mkdtempSync(join(tmpdir(), 'pull-'));
afterAll(() => rmSync(cache, { recursive: true }));

const hub = new HubDouble();
await hub.listen();
for (const name of [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'model.safetensors',
])
  hub.files.set(name, readFileSync(join(reasonerPath, name)));
const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: cache };

describe('flinch pull', () => {
  it('brings a model, shows it, tries it, and says how to serve it', async () => {
    const { code, stdout, stderr } = await start(['pull', 'tiny/model'], '', env).finished;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^flinch: downloading tiny\/model \(5 files, 10 MB\) into .*models--tiny--model\n$/,
      ),
    });
    expect(stdout).toMatch(/^model {2}.*snapshots/);
    expect(stdout).toMatch(/16 tokens written and scored, "/);
    expect(stdout).toMatch(/scores of the stream and of the finished text (are the same|differ by at most)/);
    expect(stdout.endsWith('\nServe it:  flinch serve --model tiny/model\n')).toBe(true);
  });

  it('is not needed: every command with --model takes the name', async () => {
    const ask = ['chat', '--model', 'tiny/model', '--no-score', '--max-tokens', '3', 'What is 12 + 30?'];
    const { code, stdout, stderr } = await start(ask, '', { ...env, HF_HUB_OFFLINE: '1' }).finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('HF_HUB_OFFLINE is set') });
    expect(stdout.trim()).not.toBe('');
    const missing = await start(['chat', '--model', 'tiny/none', 'x'], '', {
      ...env,
      HF_HUB_OFFLINE: '1',
    }).finished;
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('tiny/none@main: is not in') });
  });

  it('serves it under its name', async () => {
    const { child, stdout, finished } = start(['serve', '--model', 'tiny/model', '--port', '0'], '', env);
    await expect.poll(stdout, { timeout: 60_000 }).toMatch(/serves model on cpu at http/);
    child.kill('SIGTERM');
    expect((await finished).code).toBe(0);
    expect(hub.fetched.filter((path) => path === 'model.safetensors')).toHaveLength(1);
  });

  it('lists models that fit, and says what it needs', async () => {
    const list = await flinch(['pull', '--list']);
    expect(list.stdout).toMatch(
      /^ {2}HuggingFaceTB\/SmolLM2-135M-Instruct +270 MB {2}tested with its weights$/m,
    );
    const { stdout } = await flinch(['pull', '--list', '--json']);
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ model: 'Qwen/Qwen3-0.6B', gated: false }),
    );
    expect((await flinch(['pull'])).stderr).toContain('a model is required');
    expect((await flinch(['pull', 'SmolLM2'])).stderr).toContain('expected OWNER/NAME');
  });
});
