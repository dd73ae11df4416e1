import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addressIn, flinch, modelFacts, start, useFolder } from '../support/cli.js';
import { FileServer } from '../support/file-server.js';
import { encodeGguf, ggufFile, ggufParts } from '../support/gguf.js';
import { REASONER } from '../support/golden.js';
import { HOSTILE, obeyed } from '../support/hostile-text.js';
import { HubDouble } from '../support/hub-double.js';

const folder = useFolder();
const hub = new HubDouble();
await hub.listen();
const mirror = new FileServer(Buffer.from(''));
const mirrorUrl = await mirror.listen();
const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: folder.path('cache'), HF_TOKEN: '' };

beforeEach(() => {
  hub.files.clear();
  hub.listing = null;
});

/** What a terminal or a reader would take for something else than text from elsewhere. */
const misleading = (text: string): string[] => [
  ...obeyed(text),
  ...text.split('\n').filter((line) => /^(flinch: )?flinch: all is well/.test(line)),
];

/** Of what a command prints with and without colours, nothing misleads; and the hostile text is shown. */
async function shows(args: readonly string[], what: string | RegExp, input = ''): Promise<void> {
  for (const colours of ['0', '3']) {
    const { stdout, stderr } = await flinch(args, input, { ...env, FORCE_COLOR: colours });
    expect(stdout + stderr).toMatch(what);
    expect(misleading(stdout + stderr)).toEqual([]);
  }
}

/** A copy of the embedded model with another value in one of its files. */
function modelWith(name: string, file: string, change: Readonly<Record<string, unknown>>): string {
  const place = folder.path(name);
  cpSync(REASONER, place, { recursive: true });
  const json = z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(readFileSync(join(REASONER, file), 'utf8')));
  writeFileSync(join(place, file), JSON.stringify({ ...json, ...change }));
  return place;
}

/** Escaped, as it must come out. */
const SHOWN = /\\u001b\]0;owned/;

describe('hostile text', () => {
  it.each([false, true])('in the name and the metadata of a GGUF file (JSON: %j)', async (json) => {
    const { metadata, tensors } = ggufParts(ggufFile('tiny-llama'));
    const tokens = z.array(z.string()).parse(metadata['tokenizer.ggml.tokens']);
    const end = Number(metadata['tokenizer.ggml.eos_token_id']);
    const file = folder.path(`${HOSTILE}.gguf`);
    const renamed = {
      ...metadata,
      'general.name': HOSTILE,
      'tokenizer.ggml.tokens': tokens.with(end, HOSTILE),
    };
    writeFileSync(file, encodeGguf({ metadata: renamed, tensors }));
    await shows(['doctor', file, '--port', '0', ...(json ? ['--json'] : [])], SHOWN);
    if (json) {
      const { stdout } = await flinch(['doctor', file, '--port', '0', '--json']);
      expect(modelFacts(stdout)).toMatchObject({ ends: expect.arrayContaining([HOSTILE]), dir: file });
    }
  });

  it.each(['general.architecture', 'tokenizer.ggml.pre'])('in %s of a GGUF file', async (key) => {
    const { metadata, tensors } = ggufParts(ggufFile('tiny-llama'));
    const file = folder.path(`${key}.gguf`);
    writeFileSync(file, encodeGguf({ metadata: { ...metadata, [key]: HOSTILE }, tensors }));
    await shows(['doctor', file, '--port', '0'], SHOWN);
  });

  it.each([
    ['config.json', { model_type: HOSTILE }],
    ['config.json', { rope_scaling: { rope_type: HOSTILE } }],
    ['tokenizer.json', { pre_tokenizer: { type: HOSTILE } }],
    ['tokenizer.json', { model: { type: 'BPE', merges: [], vocab: { [HOSTILE]: HOSTILE } } }],
  ])('in %s', async (file, change) => {
    const model = modelWith(`model-${JSON.stringify(change).length}`, file, change);
    await shows(['doctor', model, '--port', '0'], SHOWN);
  });

  it('in what a chat template says', async () => {
    const chat_template = `{{ raise_exception(${JSON.stringify(HOSTILE)}) }}`;
    const model = modelWith('template', 'tokenizer_config.json', { chat_template });
    await shows(['chat', '--model', model, 'hello'], /owned/);
  });

  it('in the name of a folder that is served', async () => {
    const model = modelWith(HOSTILE, 'config.json', {});
    rmSync(join(model, 'calibration.json')); // where to calibrate it is said
    const running = start(['serve', '--model', model, '--port', '0', '--log-level', 'info'], null);
    const address = addressIn(running).catch(() => '');
    await Promise.race([address, running.finished]);
    running.child.kill('SIGTERM');
    const { stdout, stderr } = await running.finished;
    expect(stdout + stderr).toMatch(SHOWN);
    expect(misleading(stdout + stderr)).toEqual([]);
  });

  it('in the name of a file that is missing, and in an option', async () => {
    await shows(['score', folder.path(`no ${HOSTILE}`)], SHOWN);
    const unknown = HOSTILE.replaceAll('\n', '');
    await shows([`--${unknown}`], SHOWN);
  });

  it('in names, refusals and reasons of a hub', async () => {
    const pull = ['pull', 'tiny/model', '--no-test'];
    hub.files.set('\u202efugg.gguf', Buffer.from(''));
    await shows(pull, /choose one with --gguf: \\u202efugg\.gguf/);
    for (const code of ['GatedRepo', 'Other']) {
      hub.listing = (_, response) =>
        void response
          .writeHead(400, '\xe2\x80\xae8m', { 'x-error-code': code, 'x-error-message': '\x9b2J' })
          .end();
      await shows(pull, /\\u009b2J/);
    }
  });

  it('in the reasons of a mirror of data sets', async () => {
    // In UTF-8, as which a reason is read.
    const answer = (_: unknown, response: { writeHead(status: number, words: string): { end(): void } }) =>
      response.writeHead(404, '\xe2\x80\xae8m').end();
    mirror.instead.push(answer, answer);
    mkdirSync(folder.path('data'));
    const pull = ['data', 'pull', 'gsm8k', '--base-url', mirrorUrl, '--data', folder.path('data')];
    await shows(pull, /the server answered 404 \\u202e8m/);
  });
});
