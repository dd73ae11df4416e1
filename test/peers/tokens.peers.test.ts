import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkpointOf, pythonOf } from '#lab/peers/peers-folder.js';
import { encodePrompt, openCheckpoint } from '#src/index.js';
import { Detokenizer } from '#src/tokenizer/detokenizer.js';
import { anyIds, conversations, nastyTexts } from '../support/nasty-texts.js';
import { needs } from '../support/peers.js';

const SCRIPT = fileURLToPath(new URL('tokens.py', import.meta.url));
const numbers = z.array(z.number());
const answer = z.object({
  texts: z.array(z.object({ ids: numbers, plain: numbers, decoded: z.string() })),
  conversations: z.array(z.object({ text: z.string(), ids: numbers })),
  ids: z.array(z.string()),
});

const folder = checkpointOf('smollm2');
const { missing, reason } = needs(pythonOf('vllm'), folder);

describe.skipIf(missing)(`SmolLM2's tokens and those of transformers${reason}`, async () => {
  if (missing) return;
  const checkpoint = await openCheckpoint(folder);
  const { tokenizer, chatTemplate } = checkpoint;
  const given = {
    texts: nastyTexts(10_000),
    conversations: conversations(200),
    ids: anyIds(2000, tokenizer.size),
  };
  const expected = await transformers(given);

  it('are the same for 10,000 texts', () => {
    const differences = given.texts.flatMap((text, i) => {
      const { ids, plain } = expected.texts[i]!;
      const same = isSame(tokenizer.encode(text), ids) && isSame(tokenizer.encodePlain(text), plain);
      return same ? [] : [text];
    });
    expect(differences).toEqual([]);
  });

  it('are decoded to the same text, at once and in a stream', () => {
    const decoded = [
      ...expected.texts.map(({ ids, decoded }) => ({ ids, text: decoded })),
      ...expected.ids.map((text, i) => ({ ids: given.ids[i]!, text })),
    ];
    const differences = decoded.filter(({ ids, text }) => {
      const detokenizer = new Detokenizer(tokenizer);
      const streamed = ids.map((id) => detokenizer.push(id)).join('') + detokenizer.flush();
      return tokenizer.decode(ids) !== text || streamed !== text;
    });
    expect(differences).toEqual([]);
  });

  it('are the same for 200 conversations', () => {
    for (const [i, messages] of given.conversations.entries()) {
      const { text, ids } = expected.conversations[i]!;
      const rendered = chatTemplate.render(messages, { addGenerationPrompt: true });
      expect(wellFormed(rendered)).toBe(text);
      expect(encodePrompt(checkpoint, messages)).toEqual(ids);
    }
  });
});

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);

/** Halves of surrogate pairs become U+FFFD. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

async function transformers(given: unknown): Promise<z.output<typeof answer>> {
  const child = promisify(execFile)(pythonOf('vllm'), [SCRIPT, folder], {
    maxBuffer: 2 ** 28,
    env: { ...process.env, HF_HUB_OFFLINE: '1' },
  });
  child.child.stdin?.end(JSON.stringify(given));
  return answer.parse(JSON.parse((await child).stdout));
}
