import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { post } from '../../support/gateway.js';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { answering, stopChunk } from '../../support/upstream-doubles.js';
import { body, streamed, upstreamGateway } from '../../support/upstream-gateway.js';

/** A token of the server: its id, the text that comes with it, and its log-probability. */
const TOKENS = [
  [4711, 'Ulm', -0.2],
  [12, ' old', -0.4],
  [9, '.', -9999],
] as const;
type Token = (typeof TOKENS)[number];

/** How servers tell tokens whose texts they do not tell. */
const named = (id: number) => ({
  token: `token_id:${id}`,
  bytes: [...Buffer.from(`token_id:${id}`)],
});
const chat = (of: (id: number) => object) => (tokens: readonly Token[]) => ({
  delta: { content: tokens.map(([, text]) => text).join('') },
  logprobs: {
    content: tokens.map(([id, , logprob]) => ({
      ...of(id),
      logprob,
      top_logprobs: [
        { ...of(7), logprob: -3 },
        { ...of(id), logprob },
      ],
    })),
  },
});
const FORMS: Readonly<Record<string, (tokens: readonly Token[]) => object>> = {
  'token_id:, with its bytes': chat(named),
  'token_id:, without bytes': chat((id) => ({ ...named(id), bytes: null })),
  'an id in place of the text': chat((id) => ({ token: id })),
  'an id beside no text': chat((id) => ({ id, token: null })),
  'a token_id beside nothing': chat((id) => ({ token_id: id })),
  'nothing but log-probabilities': chat(() => ({})),
  'lists of OpenAI’s older completions': (tokens) => ({
    delta: { content: tokens.map(([, text]) => text).join('') },
    logprobs: {
      tokens: tokens.map(([id]) => `token_id:${id}`),
      token_logprobs: tokens.map(([, , logprob]) => logprob),
      top_logprobs: tokens.map(([id, , logprob]) => ({ [`token_id:${id}`]: logprob, 'token_id:7': -3 })),
    },
  }),
  'such lists without tokens': (tokens) => ({
    delta: { content: tokens.map(([, text]) => text).join('') },
    logprobs: {
      token_ids: tokens.map(([id]) => id),
      token_logprobs: tokens.map(([, , logprob]) => logprob),
    },
  }),
};

/** One token in a chunk, or all of them. */
const CHUNKS: readonly (readonly [string, readonly (readonly Token[])[]])[] = [
  ['a token in a chunk', TOKENS.map((token) => [token])],
  ['all in one chunk', [TOKENS]],
];

async function serving(choices: readonly object[]): Promise<string> {
  const upstream = await scriptedUpstream(
    answering((_, reply) => {
      reply.head();
      for (const choice of choices) reply.data({ choices: [{ index: 0, finish_reason: null, ...choice }] });
      reply.last(stopChunk);
    }),
  );
  return (await upstreamGateway([upstream.url], { retries: 0 })).url;
}

const answer = z.object({
  choices: z.tuple([
    z.looseObject({
      message: z.looseObject({ content: z.string() }),
      logprobs: z.object({
        content: z.array(z.looseObject({ token: z.string(), logprob: z.number().nullable() })),
      }),
    }),
  ]),
  flinch: z.looseObject({
    guard: z.looseObject({ warnings: z.array(z.string()) }),
    tokens: z.array(
      z.looseObject({ id: z.number().nullable(), text: z.string(), scores: z.looseObject({}).optional() }),
    ),
  }),
});

const ASKED = { logprobs: true, top_logprobs: 2, return_tokens_as_token_ids: true };
const UNMATCHED = expect.stringContaining('could not be matched with its text');

describe.each(CHUNKS)('tokens that are told by their ids, %s', (_, chunks) => {
  it.each(Object.entries(FORMS))('%s', async (form, write) => {
    const url = await serving(chunks.map(write));
    const { choices, flinch } = answer.parse(
      await (await post(url, body({ ...ASKED, stream: false }))).json(),
    );
    const [{ message, logprobs }] = choices;
    expect(message.content).toBe('Ulm old.');
    expect(logprobs.content.map(({ logprob }) => logprob)).toEqual([-0.2, -0.4, -9999]);
    if (form.startsWith('token_id:'))
      expect(logprobs.content[0]).toEqual({
        ...named(4711),
        logprob: -0.2,
        top_logprobs: [
          { ...named(4711), logprob: -0.2 },
          { ...named(7), logprob: -3 },
        ],
      });
    expect(flinch.tokens.map(({ text }) => text).join('')).toBe('Ulm old.');
    if (form !== 'nothing but log-probabilities')
      expect(flinch.tokens.map(({ id }) => id)).toEqual([4711, 12, 9]);
    expect(flinch.tokens.map(({ scores }) => scores?.nll)).toEqual([0.2, 0.4, undefined]);
    expect(flinch.guard.warnings).not.toContainEqual(UNMATCHED);
    const { text, chunks: told } = await streamed(url, ASKED);
    expect(text).toBe('Ulm old.');
    const streams = told.flatMap((chunk) => chunk.flinch?.tokens ?? []).filter(({ scores }) => scores);
    expect(streams.map(({ logprob }) => logprob)).toEqual([-0.2, -0.4, -9999]);
  });
});

it('log-probabilities that are of no text there are named in a warning, once', async () => {
  const url = await serving([
    chat(() => ({ token: 'Ġtown', bytes: null }))(TOKENS.slice(0, 1)),
    chat(() => ({ token: 'Ġtown', bytes: null }))(TOKENS.slice(1)),
  ]);
  const { flinch } = answer.parse(await (await post(url, body({ ...ASKED, stream: false }))).json());
  expect(flinch.guard.warnings.filter((each) => each.includes('could not be matched'))).toHaveLength(1);
  const { chunks } = await streamed(url, ASKED);
  const said = chunks.flatMap((chunk) => (chunk.flinch?.guard ? [chunk.flinch.guard.warnings] : []));
  expect(said.at(-1)).toContainEqual(UNMATCHED);
});
