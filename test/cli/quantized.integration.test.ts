import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flinch, useFolder } from '../support/cli.js';
import { quantizedFiles } from '../support/quantized.js';

const folder = useFolder();
const env = { XDG_CACHE_HOME: folder.path('cache') };
const model = folder.path('model');
mkdirSync(model);
for (const [name, content] of Object.entries(await quantizedFiles('gptq-int4')))
  writeFileSync(join(model, name), content);

describe('a folder with quantised weights as --model', () => {
  it('is inspected without being converted', async () => {
    const { stdout, code } = await flinch(['inspect', model], '', env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/parameters +0\.07 M, stored as integers, fp32\n/);
    expect(stdout).toMatch(/quantised +gptq \(gptq\), 4 bits; 21 of 23 matrices; \d+\.\d\d bits a weight\n/);
    expect(stdout).toMatch(/weights +182 kB, converted once into the cache folder/);
    expect(existsSync(env.XDG_CACHE_HOME)).toBe(false);
  });

  it('is converted once, and answers', async () => {
    const ask = () => flinch(['chat', '--model', model, '--max-tokens', '4', '--json', 'Hi'], '', env);
    const first = await ask();
    expect(first.stderr).toMatch(
      /^flinch: converting .*model into .*\/flinch\/quantized\/\w+ \(\d+ kB\), this once\n/,
    );
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/"type":"score.delta"/);
    expect((await ask()).stderr).not.toMatch(/converting/);
  });
});
