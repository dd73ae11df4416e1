import { execFileSync } from 'node:child_process';
import { realpath, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { filesOf, fixture, folder, json, modelError, REASONER } from '../support/graphs.js';

describe('openCheckpoint', () => {
  it.each([
    ['tiny-llama', 'fp32', 275328],
    ['tiny-qwen2', 'bf16', 97088],
    ['tiny-mistral', 'fp16', 156096],
  ])('opens %s', async (name, type, weightBytes) => {
    const checkpoint = await openCheckpoint(fixture(name));
    expect(checkpoint).toMatchObject({ name, dir: resolve(fixture(name)), weightBytes, eosTokenIds: [639] });
    expect(new Set([...checkpoint.tensors.values()].map((tensor) => tensor.type))).toEqual(new Set([type]));
  });

  it('opens a model whose generation_config.json adds an end token', async () => {
    const checkpoint = await openCheckpoint(`${REASONER}/`);
    expect(checkpoint).toMatchObject({ name: 'reasoner', eosTokenIds: [2, 0] });
    expect(checkpoint.config.eosTokenIds).toEqual([2]);
    expect(checkpoint.generation).toMatchObject({ sample: true, temperature: 0.2 });
  });

  it('opens a folder of links, as the Hugging Face cache has', async () => {
    const dir = await folder({});
    const source = await realpath(fixture('tiny-llama'));
    for (const name of Object.keys(await filesOf(source))) await symlink(join(source, name), join(dir, name));
    const checkpoint = await openCheckpoint(dir);
    expect(checkpoint.tensors.get('lm_head.weight')?.file).toBe(
      join(source, 'model-00002-of-00002.safetensors'),
    );
  });

  it('needs neither generation_config.json nor tokenizer_config.json', async () => {
    const { 'generation_config.json': _g, 'tokenizer_config.json': _t, ...files } = await filesOf(REASONER);
    const checkpoint = await openCheckpoint(await folder(files));
    expect(checkpoint.eosTokenIds).toEqual([2]);
    expect(checkpoint.chatTemplate.source).toBeNull();
  });
});

describe('special tokens of a folder', () => {
  /** The embedded model with other files; its template names the end of a text. */
  async function changed(config: Readonly<Record<string, unknown>>, more: Readonly<Record<string, object>>) {
    const {
      bos_token: _b,
      eos_token: _e,
      pad_token: _p,
      chat_template,
      ...rest
    } = await json(REASONER, 'tokenizer_config.json');
    const source = String(chat_template).replaceAll("'<|im_end|>'", 'eos_token');
    const changes = { 'tokenizer_config.json': { ...rest, chat_template: source, ...config }, ...more };
    const warnings: string[] = [];
    const files = { ...(await filesOf(REASONER)), ...changes };
    return {
      ...(await openCheckpoint(await folder(files), { onWarning: (one) => warnings.push(one) })),
      told: warnings,
    };
  }
  const question = [{ role: 'user', content: 'What is 12 + 7?' }];
  const map = { bos_token: '<|endoftext|>', eos_token: { content: '<|im_end|>', lstrip: false } };

  it('are those of special_tokens_map.json where tokenizer_config.json has none', async () => {
    const checkpoint = await changed({}, { 'special_tokens_map.json': map });
    expect(encodePrompt(checkpoint, question)).toEqual(
      encodePrompt(await openCheckpoint(REASONER), question),
    );
    expect(encodePrompt(checkpoint, question)).toHaveLength(28);
    expect(checkpoint.told).toEqual([]);
  });

  const named = '{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}';
  const unnamed = '{{ messages[-1].content }}{{ eos_token }}';

  it.each([
    ['by its name', { eos_token: '<|im_end|>' }, [0, 2], ''],
    ['by the template', { chat_template: named }, [0, 2], ''],
    ['by neither', { chat_template: unnamed }, [0], 'writes eos_token, which no file'],
    ['that is no token', { eos_token: '<|no|>' }, [0], 'eos_token is "<|no|>", which is no token'],
  ])('an end of answers %s', async (_, config, ends, warning) => {
    const { eosTokenIds, told } = await changed(config, { 'generation_config.json': { eos_token_id: 0 } });
    expect(eosTokenIds).toEqual(ends);
    expect(told.join()).toContain(warning);
    expect(told).toHaveLength(warning === '' ? 0 : 1);
  });
});

describe('a folder that is no checkpoint is refused by file', () => {
  const refusal = async (path: string) => (await modelError(() => openCheckpoint(path))).message;
  /** The embedded model without one of its files. */
  async function without(name: string): Promise<string> {
    const { [name]: _, ...files } = await filesOf(REASONER);
    return folder(files);
  }

  it('a missing folder, a file, one of GGUF files, one without a file that is needed', async () => {
    expect(await refusal('/no/such/model')).toBe('/no/such/model: no such file or folder');
    const dir = await folder({ 'b.gguf': '', 'a.GGUF': '', 'README.md': 'x' });
    expect(await refusal(join(dir, 'README.md'))).toMatch(/is neither a folder nor a GGUF file/);
    const models = `${join(dir, 'a.GGUF')}, ${join(dir, 'b.gguf')}`;
    expect(await refusal(dir)).toBe(`${dir}: has GGUF files, each of which is a model: ${models}`);
    for (const name of ['config.json', 'tokenizer.json']) {
      const rest = await without(name);
      expect(await refusal(rest)).toBe(`${join(rest, name)}: the file is missing`);
    }
    expect(await refusal(await without('model.safetensors'))).toMatch(/contains neither/);
  });

  it.each(['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'])(
    '%s that is no JSON, empty, or no UTF-8',
    async (name) => {
      const dir = await folder(await filesOf(REASONER));
      for (const content of ['{', '', Uint8Array.of(0x7b, 0xff, 0x7d)]) {
        await writeFile(join(dir, name), content);
        const error = await modelError(() => openCheckpoint(dir));
        expect(error.file).toBe(join(dir, name));
        expect(error.message).toMatch(/is not JSON/);
      }
    },
  );

  it.skipIf(process.platform === 'win32')('a pipe for config.json, which is never written to', async () => {
    const dir = await folder({});
    execFileSync('mkfifo', [join(dir, 'config.json')]);
    expect(await refusal(dir)).toBe(`${join(dir, 'config.json')}: is not a file`);
  });

  it('weights of another model', async () => {
    const dir = await folder({
      ...(await filesOf(fixture('tiny-mistral'))),
      'model.safetensors': (await filesOf(fixture('tiny-qwen2')))['model.safetensors']!,
    });
    const error = await modelError(() => openCheckpoint(dir));
    expect(error).toMatchObject({
      file: join(await realpath(dir), 'model.safetensors'),
      field: 'model.layers.0.self_attn.q_proj.weight',
    });
    expect(error.message).toMatch(/has shape \[32,32\], config\.json implies \[64,32\]/);
  });

  it('an end token of generation_config.json beyond the vocabulary', async () => {
    const dir = await folder({
      ...(await filesOf(REASONER)),
      'generation_config.json': { eos_token_id: [2, 1024] },
    });
    const error = await modelError(() => openCheckpoint(dir));
    expect(error).toMatchObject({ file: join(dir, 'generation_config.json'), field: 'eos_token_id' });
  });
});
