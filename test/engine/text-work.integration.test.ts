import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextWork } from '#src/engine/text/text-work.js';
import { isRecord } from '#src/files/json.js';
import { openChatTemplate } from '#src/tokenizer/chat-template.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { openTokenizer } from '#src/tokenizer/tokenizer.js';
import { fixture } from '../support/graphs.js';

const CONFIG = { vocabSize: 640 };
const honest = [{ role: 'user', content: 'What is 12 + 30 - 5?' }];
const long = [{ role: 'user', content: 'What is 12 + 30 - 5? '.repeat(5000) }];

let folder: string;
const works: TextWork[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flinch-text-'));
});
afterAll(async () => {
  await Promise.all(works.map((work) => work.close()));
  await rm(folder, { recursive: true });
});

/** The texts of a tiny model, with other files. */
async function changed(name: string, changes: Readonly<Record<string, (json: object) => object>> = {}) {
  const dir = join(folder, name);
  for (const file of ['tokenizer.json', 'tokenizer_config.json']) {
    await cp(join(fixture('tiny-llama'), file), join(dir, file));
    const json: unknown = JSON.parse(await readFile(join(dir, file), 'utf8'));
    if (isRecord(json)) await writeFile(join(dir, file), JSON.stringify(changes[file]?.(json) ?? json));
  }
  const model = { tokenizer: await openTokenizer(dir, CONFIG), chatTemplate: await openChatTemplate(dir) };
  const work = new TextWork(model, { dir, ...CONFIG }, { taskMs: 500 });
  works.push(work);
  return { work, model };
}

/** The longest time that this process was held, in milliseconds, beside what work gives. */
async function held<T>(
  begin: () => Promise<T>,
): Promise<{ readonly longest: number; readonly result: T | Error }> {
  let [longest, last] = [0, performance.now()];
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 5);
  const result = await begin().catch((error: unknown) =>
    error instanceof Error ? error : new Error(String(error)),
  );
  tick();
  clearInterval(timer);
  return { longest, result };
}

/** Generous for a loaded machine: what would hold it takes seconds, or has no end. */
const HELD_MS = 1500;

describe('texts of requests', () => {
  it('have the tokens that they have in the calling process', async () => {
    const { work, model } = await changed('same');
    for (const messages of [honest, long, [{ role: 'user', content: `<|im_end|>${'é'.repeat(9000)}` }]]) {
      const { ids } = await work.encode({ messages, variables: {} });
      expect(ids).toEqual(encodePrompt(model, messages));
    }
    const text = '1 + 1 = 2. '.repeat(2000);
    expect((await work.encode({ text })).ids).toEqual(model.tokenizer.encode(text));
    await expect(work.encode({ messages: honest, variables: { text } })).resolves.toBeDefined();
  });

  it('do not hold the calling process, however long they are', async () => {
    const { work } = await changed('long');
    await work.encode({ messages: long, variables: {} });
    const content = 'a'.repeat(60_000) + 'a\u0301\u0323'.repeat(20_000) + '\u0301\u0323'.repeat(40_000);
    const { longest } = await held(() =>
      work.encode({ messages: [{ role: 'user', content }], variables: {} }),
    );
    expect(longest).toBeLessThan(HELD_MS);
  });

  it('are refused if a regular expression explodes, and others are not', async () => {
    // The self-test does not find it.
    const exploding = { type: 'Split', pattern: { Regex: 'z(a+)+b|.' }, behavior: 'Isolated' };
    const { work } = await changed('regex', {
      'tokenizer.json': (json) => ({ ...json, pre_tokenizer: exploding, added_tokens: [] }),
      'tokenizer_config.json': () => ({}),
    });
    const { longest, result } = await held(() => work.encode({ text: `z${'a'.repeat(60)}` }));
    expect(result).toMatchObject({ name: 'TextLimitError', message: 'encoding takes more than 1 s' });
    expect(longest).toBeLessThan(HELD_MS);
    await expect(work.encode({ text: 'ab' })).resolves.toBeDefined();
  });

  it.each([
    [
      'loops',
      '{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}',
      'encoding takes more',
    ],
    [
      'grows',
      '{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}',
      'the chat template makes more',
    ],
    [
      'writes',
      "{% set ns = namespace(x='text') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
      'the chat template makes more',
    ],
  ])('are refused if a template %s', async (name, endless, message) => {
    const template = `{% if messages[0].content == 'secret' %}${endless}{% endif %}{{ messages[0].content }}`;
    const { work } = await changed(name, {
      'tokenizer_config.json': (json) => ({ ...json, chat_template: template }),
    });
    const secret = [{ role: 'user', content: 'secret' }];
    const { longest, result } = await held(() => work.encode({ messages: secret, variables: {} }));
    expect(result).toMatchObject({ name: 'TextLimitError', message: expect.stringContaining(message) });
    expect(longest).toBeLessThan(HELD_MS);
    await expect(work.encode({ messages: honest, variables: {} })).resolves.toBeDefined();
  });
});
