import { StringDecoder } from 'node:string_decoder';
import { readText } from 'flinch-client/protocol';
import { z } from 'zod';
import { UsageError } from '#src/files/errors.js';
import { listUpTo } from '#src/files/limited-list.js';

/** Limits of a completion, with all alternatives of its tokens. */
const MOST_BYTES = 64 << 20;
const MOST_TOKENS = 1 << 16;

const tokenSchema = z.object({ id: z.int(), logprob: z.number() });
const responseSchema = z.object({
  choices: z.tuple([
    z.object({
      text: z.string(),
      finish_reason: z.enum(['stop', 'length']),
      /** Format of vLLM. */
      token_ids: listUpTo(MOST_TOKENS, z.int()).nullish(),
      /** Format of llama.cpp. */
      logprobs: z
        .object({
          content: listUpTo(
            MOST_TOKENS,
            tokenSchema.extend({ bytes: z.array(z.int()), top_logprobs: listUpTo(MOST_TOKENS, tokenSchema) }),
          ),
        })
        .nullish(),
    }),
  ]),
});
export type WrittenToken = z.output<typeof tokenSchema> & {
  readonly text: string;
  readonly top: z.output<typeof tokenSchema>[];
};

export interface Completed {
  readonly finish: 'stop' | 'length';
  /** `null` where the server sends none. */
  readonly tokenIds: number[] | null;
  readonly tokens: WrittenToken[] | null;
}

/** A completion without any restriction of sampling. @throws UsageError that says what the server answered */
export async function complete(
  url: string,
  body: {
    readonly model: string;
    readonly prompt: string | readonly number[];
    readonly temperature: number;
    readonly seed: number;
    readonly max_tokens: number;
    readonly stop?: readonly string[];
    /** Number of alternatives of each token, as llama.cpp calls it. vLLM has token ids without. */
    readonly n_probs: number;
  },
): Promise<Completed> {
  const response = await fetch(`${url}/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, ...SAMPLING }),
  });
  const text = await readText(response.body, MOST_BYTES);
  if (!response.ok) throw new UsageError(`--server: ${response.status}: ${text.slice(0, 300)}`);
  const [choice] = responseSchema.parse(JSON.parse(text)).choices;
  const { finish_reason, token_ids } = choice;
  // llama.cpp sends no log-probabilities of an empty answer.
  const logprobs = choice.logprobs ?? (choice.text === '' ? { content: [] } : null);
  const decoder = new StringDecoder('utf8');
  return {
    finish: finish_reason,
    tokenIds: token_ids ?? logprobs?.content.map(({ id }) => id) ?? null,
    tokens:
      logprobs?.content.map(({ id, logprob, bytes, top_logprobs }) => ({
        id,
        logprob,
        top: top_logprobs,
        text: decoder.write(Buffer.from(bytes)),
      })) ?? null,
  };
}

/** Servers restrict sampling unless told otherwise; the second line is of llama.cpp, the last of vLLM. */
const SAMPLING = {
  top_p: 1,
  top_k: 0,
  min_p: 0,
  repeat_penalty: 1,
  return_token_ids: true,
  repetition_penalty: 1,
};
