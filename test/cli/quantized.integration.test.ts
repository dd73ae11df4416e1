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
    const { stdout, code } = await flinch(['doctor', model, '--port', '0'], '', env);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /0\.07 M parameters stored as integers, fp32; weights of 182 kB, mapped from files; quantised by gptq \(gptq\), 4 bits: 21 of 23 matrices, \d+\.\d\d bits a weight; .* is converted once\n/,
    );
    expect(stdout).toMatch(/calibration model +known once the weights are converted\n/);
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

  it('in FP8 is mapped from its file, and written with in int8', async () => {
    const float8 = folder.path('float8');
    mkdirSync(float8);
    for (const [name, content] of Object.entries(await quantizedFiles('fp8-block')))
      writeFileSync(join(float8, name), content);
    const { stdout } = await flinch(['doctor', float8, '--port', '0'], '', env);
    expect(stdout).toContain('0.07 M parameters stored as FP8, fp32;');
    const asked = await flinch(['chat', '--model', float8, '--max-tokens', '4', '--json', 'Hi'], '', env);
    // Of 32 kB in the file, the scales alone.
    expect(asked.stderr).toMatch(
      /converting .*float8 into .*\/flinch\/quantized\/\w+ \(\d(\.\d)? kB\), this once\n/,
    );
    expect(asked.stdout).toMatch(/"type":"score.delta"/);
    expect(existsSync(join(env.XDG_CACHE_HOME, 'flinch', 'int8'))).toBe(true);
  });
});
