import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openChatTemplate } from '#src/tokenizer/chat-template.js';
import { openTokenizer, Tokenizer } from '#src/tokenizer/tokenizer.js';
import { FAMILY_CHECKPOINTS } from '../support/golden.js';
import { FIXTURES, fixture, golden, json } from '../support/graphs.js';

const spelt = z.array(z.tuple([z.string(), z.array(z.number())]));

/** Byte-level BPE, and BPE in the manner of SentencePiece as Gemma and Phi-3 have it (lab/scripts/families.py). */
describe('the tokenizer and template are those of transformers', () => {
  it.each([...FIXTURES, ...FAMILY_CHECKPOINTS])('%s: conversations', async (name) => {
    const tokenizer = await openTokenizer(fixture(name), { vocabSize: 640 });
    const template = await openChatTemplate(fixture(name));
    const cases = await golden(name);
    expect(cases).not.toHaveLength(0);
    for (const { messages, prompt, promptIds, response, responseIds } of cases) {
      expect(template.render(messages, { addGenerationPrompt: true })).toBe(prompt);
      expect(tokenizer.encode(prompt)).toEqual(promptIds);
      expect(tokenizer.encode(response)).toEqual(responseIds);
      expect(tokenizer.decode(responseIds)).toBe(response);
    }
  });

  it.each(FAMILY_CHECKPOINTS)('%s: hard texts', async (name) => {
    const tokenizer = await openTokenizer(fixture(name), { vocabSize: 640 });
    const texts = spelt.parse((await json(fixture(name), 'golden.json')).spelt);
    expect(texts.map(([text]) => [text, tokenizer.encode(text)])).toEqual(texts);
  });
});

const splits = z.object({ pattern: z.string(), texts: spelt });

/** Ids of `tokenizers` 0.23.3 for the vocabulary of tiny-llama under the patterns of Phi-4-mini and Mistral Small. */
it.each(['o200k', 'tekken'])('the pattern %s splits as in Rust', async (name) => {
  const { pattern, texts } = splits.parse((await json('test/fixtures', 'splits.json'))[name]);
  const original = await json(fixture('tiny-llama'), 'tokenizer.json');
  const pretokenizers = [
    { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
    { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
  ];
  const changed = { ...original, normalizer: null, pre_tokenizer: { type: 'Sequence', pretokenizers } };
  const tokenizer = new Tokenizer(changed, {}, 'tokenizer.json');
  expect(texts.map(([text]) => [text, tokenizer.encode(text)])).toEqual(texts);
});
