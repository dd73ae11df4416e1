import type { ResumeWay, UpstreamRequest } from '../upstream.js';
import { UpstreamError, type UpstreamErrorCode } from '../upstream-error.js';
import type { Chunk } from '../wire/chunks.js';
import { type Call, callOf, type Dialect } from './dialect.js';

/** Sends a call and reads its whole answer. */
export type Ask = (call: Call) => Promise<readonly Chunk[]>;

/** Alternatives that are asked for: OpenAI's limit, that of some servers, what the margin needs, and the least. */
const TOPS = [20, 5, 2, 1] as const;

const QUESTION = { role: 'user', content: 'Count.' } as const;
/** Words that any vocabulary has as one token, with and without a space before them. */
const WORDS = 'a a a a';
const MORE_WORDS = `${WORDS} ${WORDS}`;
const WORDS_AND_LINE = `${WORDS}\n`;

/** Ids that any vocabulary has. */
const SOME_IDS = [1, 2, 3];

/** Tokens that are asked for; the others where nothing came, as from a model that thinks out of sight first. */
const FEW_TOKENS = 2;
const MORE_TOKENS = [64, 512] as const;

export interface Probed {
  readonly dialect: Dialect;
  /**
   * Error that interrupted the probe; capabilities that were not tested count as missing. `null` for a whole
   * probe.
   */
  readonly interrupted: UpstreamError | null;
}

/**
 * Asks a server with requests of a few tokens what it can do. Only what an answer shows counts: a field that is taken
 * and then ignored is no capability.
 *
 * @throws UpstreamError where it does not answer the plainest question either; `upstream_refused` if it refuses that
 */
export async function probe(model: string, ask: Ask): Promise<Probed> {
  const prober = new Prober(model, ask);
  const { dialect, chunks } = await prober.firstAnswer();
  const promptIds = chunks.find((chunk) => chunk.promptIds)?.promptIds ?? null;
  const promptTokens = promptTokensOf(chunks);

  const ways: ResumeWay[] = [];
  if (await prober.takesTokens(dialect, promptIds ?? SOME_IDS)) ways.push('tokens');
  const continuation = promptTokens === null ? null : await prober.continuation(dialect, promptTokens);
  if (continuation) ways.push('continueFinalMessage');
  if (ways.length === 0 && (await prober.takesPrompts(dialect))) ways.push('prompt');
  return {
    dialect: {
      ...dialect,
      capabilities: { ...dialect.capabilities, resume: ways[0] ?? 'none' },
      ways,
      ...continuation,
    },
    interrupted: prober.interrupted,
  };
}

/** Features that the answer shows, of those that were requested. */
function shown(asked: Dialect, chunks: readonly Chunk[]): Dialect {
  const tokens = chunks.flatMap((chunk) => chunk.tokens ?? []);
  const withLogprobs = tokens.filter(({ logprob }) => logprob !== null);
  const alternatives = Math.max(0, ...withLogprobs.map(({ topLogprobs }) => topLogprobs.length));
  const beside = asked.capabilities.tokenIds === 'return_token_ids' && chunks.some(({ ids }) => ids?.length);
  const among = tokens.length > 0 && tokens.every(({ id }) => id !== null);
  return {
    ...asked,
    capabilities: {
      tokenIds: beside ? 'return_token_ids' : among ? 'return_tokens' : 'none',
      logprobs: withLogprobs.length > 0 ? Math.min(alternatives, asked.capabilities.logprobs ?? 0) : null,
      resume: 'none',
    },
  };
}

/** Optional fields of a question. */
type ProbeState = Pick<Dialect['capabilities'], 'tokenIds' | 'logprobs'> &
  Pick<Dialect, 'usage' | 'limit' | 'unstreamed'>;

const LEAST: ProbeState = {
  usage: false,
  logprobs: null,
  tokenIds: 'none',
  limit: 'max_tokens',
  unstreamed: null,
};

interface Taken {
  readonly asked: ProbeState;
  readonly chunks: readonly Chunk[];
}

class Prober {
  readonly #model: string;
  readonly #ask: Ask;
  #answered = false;
  #refusal: UpstreamError | null = null;
  #interrupted: UpstreamError | null = null;

  constructor(model: string, ask: Ask) {
    this.#model = model;
    this.#ask = ask;
  }

  get interrupted(): UpstreamError | null {
    return this.#interrupted;
  }

  /**
   * The most telling way of asking that the server takes: some refuse fields that they do not know.
   * @throws UpstreamError
   */
  async firstAnswer(): Promise<{ readonly dialect: Dialect; readonly chunks: readonly Chunk[] }> {
    const taken = await this.#mostTelling().catch((error: unknown) => this.#unstreamed(error));
    const dialect = plain(taken.asked);
    let { chunks } = taken;
    for (const maxTokens of MORE_TOKENS) {
      if (chunks.some(({ text, tokens, ids }) => text !== '' || tokens || ids?.length)) break;
      chunks = (await this.#take(taken.asked, maxTokens))?.chunks ?? chunks;
    }
    return { dialect: shown(dialect, chunks), chunks };
  }

  /**
   * A server that answers nothing as a stream, and the same as a whole.
   * @param error of the stream
   * @throws UpstreamError
   */
  async #unstreamed(error: unknown): Promise<Taken> {
    if (!(error instanceof UpstreamError) || NOT_THERE.includes(error.code)) throw error;
    const whole = await this.#least({ ...LEAST, unstreamed: error }).catch((other: unknown) => {
      throw other instanceof UpstreamError && other.code === 'upstream_refused' ? other : error;
    });
    // The stream may have failed in passing.
    const again = callOf(this.#model, question({}), plain({ ...whole.asked, unstreamed: null }));
    const streams = await this.#ask(again).then(
      () => true,
      () => false,
    );
    return streams ? this.#mostTelling() : this.#more(whole);
  }

  async #mostTelling(): Promise<Taken> {
    const [logprobs] = TOPS;
    const all: ProbeState = { ...LEAST, usage: true, logprobs, tokenIds: 'return_token_ids' };
    const most = (await this.#take(all)) ?? (await this.#take({ ...all, tokenIds: 'none' }));
    return most ?? this.#more(await this.#least(LEAST));
  }

  async #least(least: ProbeState): Promise<Taken> {
    const taken =
      (await this.#take(least)) ?? (await this.#take({ ...least, limit: 'max_completion_tokens' }));
    if (taken) return taken;
    throw this.#refusal ?? new UpstreamError('upstream_error', 'the upstream cannot be probed');
  }

  async #more(least: Taken): Promise<Taken> {
    let best = least;
    // Then one by one, so that the number of requests is their sum and not their product.
    const fields: readonly (readonly Partial<ProbeState>[])[] = [
      best.asked.unstreamed ? [] : [{ usage: true }],
      TOPS.map((top) => ({ logprobs: top })),
      [{ tokenIds: 'return_token_ids' }],
    ];
    for (const values of fields) {
      for (const value of values) {
        const more: Taken | null = await this.#take({ ...best.asked, ...value });
        if (!more) continue;
        best = more;
        break;
      }
    }
    return best;
  }

  async #take(asked: ProbeState, maxTokens: number = FEW_TOKENS): Promise<Taken | null> {
    const request = question({ topLogprobs: asked.logprobs ?? 0, maxTokens });
    const chunks = await this.#answer(callOf(this.#model, request, plain(asked)), ['upstream_refused']);
    return chunks && { asked, chunks };
  }

  /** A prompt of ids has as many tokens as ids, unless it was taken for something else. */
  async takesTokens(dialect: Dialect, ids: readonly number[]): Promise<boolean> {
    const prefix = { text: '', promptIds: ids, ids: [] };
    return (await this.#promptTokens({ prefix }, { ...dialect, ways: ['tokens'] })) === ids.length;
  }

  /**
   * A beginning that is continued adds its own tokens to those of the prompt; one that is taken for a finished message
   * adds what ends it and begins another, too. Twice the words tell how many tokens the words have. Where a line break
   * after them adds none, the template takes white space off the end (those of Llama 3 do). An answer that repeats the
   * beginning is none that goes on with it: llama.cpp's, to a last message alone, since its pull request 23089.
   */
  async continuation(
    dialect: Dialect,
    promptTokens: number,
  ): Promise<Pick<Dialect, 'continuation' | 'trims'> | null> {
    for (const continuation of ['fields', 'message'] as const) {
      const ask = (text: string): Promise<readonly Chunk[] | null> =>
        this.#continued(
          { prefix: { text, promptIds: null, ids: null } },
          { ...dialect, ways: ['continueFinalMessage'], continuation, trims: false },
        );
      const once = await ask(WORDS);
      const twice = once && (await ask(MORE_WORDS));
      if (!once || !twice || textOf(twice).startsWith(MORE_WORDS)) continue;
      const tokens = promptTokensOf(once);
      const more = promptTokensOf(twice);
      if (tokens === null || more === null) continue;
      if (more <= tokens || tokens - promptTokens !== more - tokens) continue;
      const withLine = promptTokensOf((await ask(WORDS_AND_LINE)) ?? []);
      // The server's handling of white space is unknown: it is not trusted.
      if (withLine === null) return null;
      return { continuation, trims: withLine <= tokens };
    }
    return null;
  }

  /** Around a raw prompt there is at most a token that begins every text. Ollama puts a template around it. */
  async takesPrompts(dialect: Dialect): Promise<boolean> {
    const count = (prompt: string): Promise<number | null> =>
      this.#promptTokens(
        { prefix: { text: '', promptIds: null, ids: null, prompt } },
        { ...dialect, ways: ['prompt'] },
      );
    const once = await count(WORDS);
    const twice = once === null ? null : await count(MORE_WORDS);
    if (once === null || twice === null) return false;
    const around = once - (twice - once);
    return around === 0 || around === 1;
  }

  /**
   * Prompt tokens of a request as the server counts them; `null` if it does not take it, or does not count.
   */
  async #promptTokens(request: Pick<UpstreamRequest, 'prefix'>, dialect: Dialect): Promise<number | null> {
    const chunks = await this.#continued(request, dialect);
    return chunks && promptTokensOf(chunks);
  }

  /** `null` if the server does not take the request. */
  #continued(request: Pick<UpstreamRequest, 'prefix'>, dialect: Dialect): Promise<readonly Chunk[] | null> {
    return this.#answer(callOf(this.#model, question(request), dialect), NOT_DONE);
  }

  /**
   * `null` for what the server does not do. Once it has answered a fault that may pass ends the probe, and what is known
   * counts.
   */
  async #answer(call: Call, notDone: readonly UpstreamErrorCode[]): Promise<readonly Chunk[] | null> {
    if (this.#interrupted) return null;
    try {
      const chunks = await this.#ask(call);
      this.#answered = true;
      return chunks;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.code === 'upstream_refused') this.#refusal = error;
      if (notDone.includes(error.code)) return null;
      if (!this.#answered) throw error;
      this.#interrupted = error;
      return null;
    }
  }
}

function question(changes: Partial<UpstreamRequest>): UpstreamRequest {
  return {
    messages: [QUESTION],
    // No temperature is set: some models refuse any.
    sampling: {},
    maxTokens: FEW_TOKENS,
    stop: [],
    topLogprobs: 0,
    ...changes,
  };
}

function plain({ usage, limit, unstreamed, ...capabilities }: ProbeState): Dialect {
  return {
    capabilities: { ...capabilities, resume: 'none' },
    usage,
    limit,
    unstreamed,
    ways: [],
    continuation: 'fields',
    trims: false,
  };
}

const textOf = (chunks: readonly Chunk[]): string => chunks.map(({ text }) => text).join('');

const promptTokensOf = (chunks: readonly Chunk[]): number | null =>
  chunks.findLast(({ usage }) => usage)?.usage?.promptTokens ?? null;

/** Errors that are no answer, or no answer yet. */
const NOT_THERE: readonly UpstreamErrorCode[] = [
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_overloaded',
];

/** The answers of a server to what it does not do: it does not take the fields, the address, or falls over them. */
const NOT_DONE: readonly UpstreamErrorCode[] = ['upstream_refused', 'upstream_not_found', 'upstream_error'];
