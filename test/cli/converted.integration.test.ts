import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { flinch, jsonLines, modelFacts, start, useFolder } from '../support/cli.js';
import { encodeGguf, ggufFile, ggufParts } from '../support/gguf.js';
import { quantizedFiles } from '../support/quantized.js';

const folder = useFolder();
const env = { XDG_CACHE_HOME: folder.path('cache') };
const model = folder.path('tiny.gguf');
copyFileSync(ggufFile('tiny-llama'), model);
mkdirSync(folder.path('gptq'));
for (const [name, content] of Object.entries(await quantizedFiles('gptq-int4')))
  writeFileSync(folder.path(`gptq/${name}`), content);

describe('a model that is converted', () => {
  it('that is a GGUF file is inspected without being converted', async () => {
    const { stdout, code } = await flinch(['doctor', model, '--port', '0', '--json'], '', env);
    expect(code).toBe(0);
    const { gguf, embeddingRms, weightBytes, types } = modelFacts(stdout);
    expect(gguf).toMatchObject({ file: model, types: { Q8_0: 4, Q4_0: 4, F32: 8 } });
    expect({ embeddingRms, types }).toEqual({
      embeddingRms: null,
      types: expect.arrayContaining(['fp32', 'fp16', 'bf16']),
    });
    expect(weightBytes).toBeLessThan(266112); // of fp32
    expect(existsSync(env.XDG_CACHE_HOME)).toBe(false);
  });

  it('that is a folder with quantised weights is inspected without being converted', async () => {
    const { stdout, code } = await flinch(['doctor', folder.path('gptq'), '--port', '0'], '', env);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /0\.07 M parameters stored as integers, fp32; weights of 182 kB, mapped from files; quantised by gptq \(gptq\), 4 bits: 21 of 23 matrices, \d+\.\d\d bits a weight; .* is converted once\n/,
    );
    expect(stdout).toMatch(/calibration gptq +known once the weights are converted\n/);
    expect(existsSync(env.XDG_CACHE_HOME)).toBe(false);
  });

  it.each([
    ['a GGUF file', 'tiny.gguf', 'gguf'],
    ['a folder with quantised weights', 'gptq', 'quantized'],
  ])('%s is converted once, and answers', async (_, name, cache) => {
    const path = folder.path(name);
    const ask = () => flinch(['chat', '--model', path, '--max-tokens', '4', '--json', 'Hi'], '', env);
    const first = await ask();
    expect(first.stderr).toMatch(
      new RegExp(`^flinch: converting .*${name} into .*/flinch/${cache}/\\w+ \\(\\d+ kB\\), this once\n`),
    );
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/"type":"score.delta"/);
    expect((await ask()).stderr).not.toMatch(/converting/);
  });

  it('answers where the cache cannot be written, from temporary files', async () => {
    const [cache, temporary] = [join(model, 'below-a-file'), folder.path('temporary')];
    mkdirSync(temporary);
    const readOnly = { XDG_CACHE_HOME: cache, TMPDIR: temporary };
    // In a process of its own: the folder for temporary files is that of the process.
    const asked = start(['chat', '--model', model, '--max-tokens', '4', '--json', 'Hi'], '', readOnly);
    const { code, stdout, stderr } = await asked.finished;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/"type":"score.delta"/)]);
    const into = join(temporary, `flinch-${process.getuid?.() ?? 'cache'}`);
    for (const kind of ['gguf', 'int8'])
      expect(stderr).toMatch(
        new RegExp(
          `converting \\S+ into ${into}/${kind}/\\S+ \\(.*\\), as ${cache}/flinch cannot be written\n`,
        ),
      );
    const doctor = await flinch(['doctor', model, '--port', '0'], '', readOnly);
    expect(doctor.stdout).toMatch(
      new RegExp(`warning +cache tiny +${cache}/flinch cannot be written: weights are converted into /`),
    );
  });

  it('ends an answer where llama.cpp does, whatever the type of the end, and says so', async () => {
    const ask = ['chat', '--temperature', '0', '--max-tokens', '5', '--json', 'the stones', '--model'];
    const written = async (file: string) => {
      const { stdout, stderr } = await flinch([...ask, file], '', env);
      return {
        stderr,
        events: jsonLines(stdout).filter(({ type }) => type === 'token.delta' || type === 'generation.done'),
      };
    };
    const { events } = await written(model);
    const [first, second] = events.map(({ id }) => id);
    // The model writes <|im_end|> in place of its second token, and the file says that it is text.
    const { metadata, tensors } = ggufParts(model);
    const types = z.array(z.number()).parse(metadata['tokenizer.ggml.token_type']).with(639, 4);
    const output = tensors['output.weight']!;
    const row = output.data.length / 640;
    const data = Buffer.from(output.data);
    data.set(output.data.subarray(639 * row), Number(second) * row);
    data.set(output.data.subarray(Number(second) * row, (Number(second) + 1) * row), 639 * row);
    const file = folder.path('user-defined.gguf');
    const changed = { 'tokenizer.ggml.token_type': types, 'tokenizer.ggml.eos_token_id': 637 };
    writeFileSync(
      file,
      encodeGguf({
        metadata: { ...metadata, ...changed },
        tensors: { ...tensors, 'output.weight': { ...output, data } },
      }),
    );
    const ended = await written(file);
    expect(ended.stderr).toContain('"<|im_end|>" (639, USER_DEFINED): ends an answer');
    expect(ended.events).toMatchObject([
      { type: 'token.delta', id: first },
      { type: 'generation.done', finish_reason: 'stop' },
    ]);
  });

  it('in FP8 is mapped from its file, and written with in int8', async () => {
    const float8 = folder.path('float8');
    mkdirSync(float8);
    for (const [name, content] of Object.entries(await quantizedFiles('fp8-block')))
      writeFileSync(folder.path(`float8/${name}`), content);
    const { stdout } = await flinch(['doctor', float8, '--port', '0'], '', env);
    expect(stdout).toContain('0.07 M parameters stored as FP8, fp32;');
    const asked = await flinch(['chat', '--model', float8, '--max-tokens', '4', '--json', 'Hi'], '', env);
    // Of 32 kB in the file, the scales alone.
    expect(asked.stderr).toMatch(
      /converting .*float8 into .*\/flinch\/quantized\/\w+ \(\d(\.\d)? kB\), this once\n/,
    );
    expect(asked.stdout).toMatch(/"type":"score.delta"/);
    expect(existsSync(folder.path('cache/flinch/int8'))).toBe(true);
  });
});
