import type { Chunk } from './chunks.js';
import { type Call, callOf, type Dialect } from './dialect.js';
import { UpstreamError, type UpstreamErrorCode } from './errors.js';
import type { ResumeWay, UpstreamRequest } from './upstream.js';

/** Sends a call and reads its whole answer. */
export type Ask = (call: Call) => Promise<readonly Chunk[]>;

/** Alternatives that are asked for: OpenAI's limit, that of some servers, none. */
const TOPS = [20, 5, null] as const;

const QUESTION = { role: 'user', content: 'Count.' } as const;
/** Words that any vocabulary has as one token, with and without a space before them. */
const WORDS = 'a a a a';
const MORE_WORDS = `${WORDS} ${WORDS}`;

/** Ids that any vocabulary has. */
const SOME_IDS = [1, 2, 3];

/**
 * Asks a server with requests of a few tokens what it can do. Only what an answer shows counts: a field that is taken
 * and then ignored is no capability.
 *
 * @throws UpstreamError where it does not answer the plainest question either
 */
export async function probe(model: string, ask: Ask): Promise<Dialect> {
  const { dialect, chunks } = await firstAnswer(model, ask);
  const prober = new Prober(model, ask, dialect);
  const promptIds = chunks.find((chunk) => chunk.promptIds)?.promptIds ?? null;
  const promptTokens = promptTokensOf(chunks);

  const ways: ResumeWay[] = [];
  if (await prober.takesTokens(promptIds ?? SOME_IDS)) ways.push('tokens');
  const continuation = promptTokens === null ? null : await prober.continuation(promptTokens);
  if (continuation) ways.push('continueFinalMessage');
  const raw = ways.length > 0 ? null : await prober.raw();
  if (raw) ways.push('prompt');
  return {
    ...dialect,
    capabilities: { ...dialect.capabilities, resume: ways[0] ?? 'none' },
    ways,
    ...(continuation && { continuation }),
    ...(raw && { raw }),
  };
}

/** The most telling way of asking that the server takes: some refuse fields that they do not know. */
async function firstAnswer(
  model: string,
  ask: Ask,
): Promise<{ readonly dialect: Dialect; readonly chunks: readonly Chunk[] }> {
  for (const usage of [true, false]) {
    for (const logprobs of TOPS) {
      for (const tokenIds of ['return_token_ids', 'none'] as const) {
        const dialect = plain({ tokenIds, logprobs, usage });
        const call = callOf(model, question({ topLogprobs: logprobs ?? 0 }), dialect);
        const chunks = await unless(['upstream_refused'], ask(call));
        if (chunks) return { dialect: shown(dialect, chunks), chunks };
      }
    }
  }
  throw new UpstreamError('upstream_error', 'the upstream refuses the plainest request');
}

/** What of that which was asked for the answer has. */
function shown(asked: Dialect, chunks: readonly Chunk[]): Dialect {
  const tokens = chunks.flatMap((chunk) => chunk.tokens ?? []);
  const told = tokens.filter(({ logprob }) => logprob !== null);
  const alternatives = Math.max(0, ...told.map(({ top }) => top.length));
  const beside = asked.capabilities.tokenIds === 'return_token_ids' && chunks.some(({ ids }) => ids?.length);
  const among = tokens.length > 0 && tokens.every(({ id }) => id !== null);
  return {
    ...asked,
    capabilities: {
      tokenIds: beside ? 'return_token_ids' : among ? 'return_tokens' : 'none',
      logprobs: told.length > 0 ? Math.min(alternatives, asked.capabilities.logprobs ?? 0) : null,
      resume: 'none',
    },
  };
}

class Prober {
  readonly #model: string;
  readonly #ask: Ask;
  readonly #dialect: Dialect;

  constructor(model: string, ask: Ask, dialect: Dialect) {
    this.#model = model;
    this.#ask = ask;
    this.#dialect = dialect;
  }

  /** A prompt of ids has as many tokens as ids, unless it was taken for something else. */
  async takesTokens(ids: readonly number[]): Promise<boolean> {
    const begun = { text: '', promptIds: ids, ids: [] };
    return (await this.#promptTokens({ begun }, { ways: ['tokens'] })) === ids.length;
  }

  /**
   * A beginning that is continued adds its own tokens to those of the prompt; one that is taken for a finished message
   * adds what ends it and begins another, too. Twice the words tell how many tokens the words have.
   */
  async continuation(promptTokens: number): Promise<Dialect['continuation'] | null> {
    for (const continuation of ['fields', 'message'] as const) {
      const count = (text: string): Promise<number | null> =>
        this.#promptTokens(
          { begun: { text, promptIds: null, ids: null } },
          { ways: ['continueFinalMessage'], continuation },
        );
      const once = await count(WORDS);
      const twice = once === null ? null : await count(MORE_WORDS);
      if (once !== null && twice !== null && once - promptTokens === twice - once) return continuation;
    }
    return null;
  }

  /** Around a raw prompt there is at most a token that begins every text. */
  async raw(): Promise<Dialect['raw'] | null> {
    for (const raw of ['completions', 'generate'] as const) {
      const count = (prompt: string): Promise<number | null> =>
        this.#promptTokens(
          { begun: { text: '', promptIds: null, ids: null, prompt } },
          { ways: ['prompt'], raw },
        );
      const once = await count(WORDS);
      const twice = once === null ? null : await count(MORE_WORDS);
      if (once === null || twice === null) continue;
      const around = once - (twice - once);
      if (around === 0 || around === 1) return raw;
    }
    return null;
  }

  /** Of a request as the server counts them; `null` if it does not take it, or does not count. */
  async #promptTokens(
    request: Pick<UpstreamRequest, 'begun'>,
    changes: Partial<Dialect>,
  ): Promise<number | null> {
    const dialect = { ...this.#dialect, ...changes };
    const call = callOf(this.#model, question(request), dialect);
    const chunks = await unless(NOT_DONE, this.#ask(call));
    return chunks && promptTokensOf(chunks);
  }
}

function question(changes: Partial<UpstreamRequest>): UpstreamRequest {
  return {
    messages: [QUESTION],
    sampling: { temperature: 0 },
    maxTokens: 2,
    stop: [],
    topLogprobs: 0,
    ...changes,
  };
}

function plain(
  asked: Pick<Dialect['capabilities'], 'tokenIds' | 'logprobs'> & Pick<Dialect, 'usage'>,
): Dialect {
  const { usage, ...capabilities } = asked;
  return {
    capabilities: { ...capabilities, resume: 'none' },
    usage,
    ways: [],
    continuation: 'fields',
    raw: 'completions',
  };
}

const promptTokensOf = (chunks: readonly Chunk[]): number | null =>
  chunks.findLast(({ usage }) => usage)?.usage?.promptTokens ?? null;

/** The answers of a server to what it does not do: it does not take the fields, the address, or falls over them. */
const NOT_DONE: readonly UpstreamErrorCode[] = ['upstream_refused', 'upstream_not_found', 'upstream_error'];

async function unless<T>(codes: readonly UpstreamErrorCode[], answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof UpstreamError && codes.includes(error.code)) return null;
    throw error;
  }
}
