import { copyFileSync, existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flinch, useFolder } from '../support/cli.js';
import { ggufFile } from '../support/gguf.js';

const folder = useFolder();
const env = { XDG_CACHE_HOME: folder.path('cache') };
const model = folder.path('tiny.gguf');
copyFileSync(ggufFile('tiny-llama'), model);

describe('a GGUF file as --model', () => {
  it('is inspected without being converted', async () => {
    const { stdout, code } = await flinch(['inspect', model, '--json'], '', env);
    expect(code).toBe(0);
    const { gguf, embeddingRms, weightBytes, types } = JSON.parse(stdout);
    expect(gguf).toMatchObject({ file: model, types: { Q8_0: 4, Q4_0: 4, F32: 8 } });
    expect({ embeddingRms, types }).toEqual({
      embeddingRms: null,
      types: expect.arrayContaining(['fp32', 'fp16', 'bf16']),
    });
    expect(weightBytes).toBeLessThan(266112); // of fp32
    expect(existsSync(env.XDG_CACHE_HOME)).toBe(false);
  });

  it('is converted once, and answers', async () => {
    const ask = () => flinch(['chat', '--model', model, '--max-tokens', '4', '--json', 'Hi'], '', env);
    const first = await ask();
    expect(first.stderr).toMatch(
      /^flinch: converting .*tiny\.gguf into .*\/flinch\/gguf\/\w+ \(\d+ kB\), this once\n/,
    );
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/"type":"score.delta"/);
    expect((await ask()).stderr).not.toMatch(/converting/);
  });
});
