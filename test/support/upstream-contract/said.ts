import { z } from 'zod';

/** Answer of the server itself: read here, and not by flinch. */
const piece = z.object({
  choices: z.array(
    z.object({
      delta: z.object({ content: z.string().nullish() }).optional(),
      text: z.string().optional(),
      finish_reason: z.string().nullish(),
      token_ids: z.array(z.number()).nullish(),
      prompt_token_ids: z.array(z.number()).nullish(),
      logprobs: z
        .object({
          content: z.array(z.object({ id: z.number().optional(), logprob: z.number() })).optional(),
          token_logprobs: z.array(z.number()).optional(),
        })
        .nullish(),
    }),
  ),
  prompt_token_ids: z.array(z.number()).nullish(),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
});

export interface Said {
  readonly text: string;
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly promptIds: readonly number[] | null;
  readonly finishReason: string | null;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

/** @param body Server-Sent Events */
export function said(body: string): Said {
  const pieces = body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => piece.parse(JSON.parse(line.slice('data: '.length))));
  const choices = pieces.flatMap((each) => each.choices);
  const entries = choices.flatMap(({ logprobs }) => logprobs?.content ?? []);
  const ids = choices.flatMap(({ token_ids }) => token_ids ?? []);
  return {
    text: choices.map(({ delta, text }) => delta?.content ?? text ?? '').join(''),
    ids: ids.length > 0 ? ids : entries.flatMap(({ id }) => id ?? []),
    logprobs:
      entries.length > 0
        ? entries.map(({ logprob }) => logprob)
        : choices.flatMap(({ logprobs }) => logprobs?.token_logprobs ?? []),
    promptIds:
      pieces.find((each) => each.prompt_token_ids)?.prompt_token_ids ??
      choices.find((each) => each.prompt_token_ids)?.prompt_token_ids ??
      null,
    finishReason: choices.find((each) => each.finish_reason)?.finish_reason ?? null,
    usage: pieces.find((each) => each.usage)?.usage ?? null,
  };
}
