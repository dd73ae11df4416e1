import { describe, expect, it } from 'vitest';
import { readChunks } from '#gateway/upstream/wire/chunks.js';

/** A token of the server: its id, the text that comes with it, and its log-probability. */
const TOKENS = [
  [4711, 'Ulm', -0.2],
  [12, ' old', -0.4],
  [9, '.', -9999],
] as const;
type Token = (typeof TOKENS)[number];

/** How servers tell tokens whose texts they do not tell. */
const named = (id: number) => ({ token: `token_id:${id}`, bytes: [...Buffer.from(`token_id:${id}`)] });
const entries = (of: (id: number) => object) => (tokens: readonly Token[]) => ({
  content: tokens.map(([id, , logprob]) => ({
    ...of(id),
    logprob,
    top_logprobs: [
      { ...of(7), logprob: -3 },
      { ...of(id), logprob },
    ],
  })),
});
const FORMS: Readonly<Record<string, (tokens: readonly Token[]) => object>> = {
  'token_id:, with its bytes': entries(named),
  'token_id:, without bytes': entries((id) => ({ ...named(id), bytes: null })),
  'an id in place of the text': entries((id) => ({ token: id })),
  'an id beside no text': entries((id) => ({ id, token: null })),
  'a token_id beside nothing': entries((id) => ({ token_id: id })),
  'nothing but log-probabilities': entries(() => ({})),
  'lists of OpenAI’s older completions': (tokens) => ({
    tokens: tokens.map(([id]) => `token_id:${id}`),
    token_logprobs: tokens.map(([, , logprob]) => logprob),
    top_logprobs: tokens.map(([id, , logprob]) => ({ [`token_id:${id}`]: logprob, 'token_id:7': -3 })),
  }),
  'such lists without tokens': (tokens) => ({
    token_ids: tokens.map(([id]) => id),
    token_logprobs: tokens.map(([, , logprob]) => logprob),
  }),
};

describe.each([
  ['a token in a chunk', TOKENS.map((token) => [token]), ['Ulm', ' old', '.']],
  ['all in one chunk', [TOKENS], ['', '', 'Ulm old.']],
])('tokens that are told by their ids have the text that came with them: %s', (_, chunks, texts) => {
  it.each(Object.entries(FORMS))('%s', (form, write) => {
    const tokens = chunks.flatMap((each) => {
      const content = each.map(([, text]) => text).join('');
      const choice = { index: 0, delta: { content }, logprobs: write(each) };
      return readChunks(JSON.stringify({ choices: [choice] })).flatMap(({ tokens }) => tokens ?? []);
    });
    expect(tokens.map(({ text }) => text)).toEqual(texts);
    expect(tokens.map(({ logprob }) => logprob)).toEqual([-0.2, -0.4, -9999]);
    const known = form !== 'nothing but log-probabilities';
    expect(tokens.map(({ id }) => id)).toEqual(known ? [4711, 12, 9] : [null, null, null]);
    const tops = tokens[0]!.topLogprobs.map(({ id, text, logprob }) => [id, text, logprob]);
    const first = form.includes('id:') || form.startsWith('lists') ? 'token_id:' : '';
    if (known && !form.startsWith('such'))
      expect(tops).toEqual([
        [4711, `${first}4711`, -0.2],
        [7, `${first}7`, -3],
      ]);
  });
});
