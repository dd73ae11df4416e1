import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
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
/** What is looked at of an answer. */
const answered = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  flinch: z.object({ tokens: z.array(z.object({ scores: z.object({ nll: z.number() }) })) }),
});
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
    expect(stdout).toMatch(/^ok +model model +.*snapshots.*: llama; 2\.56 M parameters/m);
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
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('tiny/none@main: HF_HUB_OFFLINE is set, and it is not in'),
    });
  });

  it('is not needed to serve a model either: one command from the hub to an answer', async () => {
    const fresh = { ...env, HF_HUB_CACHE: join(cache, 'fresh'), XDG_CACHE_HOME: join(cache, 'xdg') };
    const args = ['serve', '--model', 'tiny/model', '--port', '0', '--precision', 'int8'];
    const { child, stdout, stderr, finished } = start(args, '', fresh);
    await expect.poll(stdout).toMatch(/ model {2}model on cpu\n(.*\n)*.*not calibrated.*\n/);
    expect(stderr()).toMatch(/^flinch: downloading tiny\/model \(5 files, 10 MB\)/);
    const [url = '', hint = ''] = stdout().match(/http:\S+|model is not calibrated.*/g) ?? [];
    expect(hint).toMatch(
      /^model is not calibrated \(no calibration\.json\): .* flinch calibrate --model \/\S+fresh\/models--tiny--model\/snapshots\/\w+$/,
    );
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'model',
        messages: [{ role: 'user', content: 'What is 12 + 30?' }],
        max_tokens: 8,
        temperature: 0,
      }),
    });
    const { choices, flinch: scored } = answered.parse(await response.json());
    expect(choices[0].message.content).not.toBe('');
    expect(scored.tokens.length).toBeGreaterThan(0);
    const health = await (await fetch(`${url}/healthz`)).json();
    expect(health).toMatchObject({
      models: [{ decode: { precision: 'int8' }, score: { precision: 'fp32' } }],
    });
    child.kill('SIGTERM');
    expect((await finished).code).toBe(0);
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
