import { createHash } from 'node:crypto';
import { UsageError } from 'flinch/internals';
import { readText } from 'flinch-client/protocol';
import OpenAI from 'openai';
import { z } from 'zod';
import { readJsonIn } from './json-in.js';
import { PROMPTS_VERSION } from './judge-prompts.js';

/** The judge cannot be asked at all: you have to fix this to go on. */
export class JudgeError extends UsageError {}

export const answerSchema = z.object({
  content: z.string(),
  promptTokens: z.int(),
  completionTokens: z.int(),
});
export type JudgeAnswer = z.output<typeof answerSchema>;

/** Answers by what they answer: a question that was paid for is not asked again. */
export interface AnswerCache {
  get(key: string): JudgeAnswer | undefined;
  add(key: string, answer: JudgeAnswer): void;
}

/** A server with an OpenAI-compatible API that runs the judge. */
export interface EndpointOptions {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Timeout of one request. */
  readonly timeoutMs: number;
  /** Number of retries if the server is overloaded, failing or gone. */
  readonly retries: number;
}

/** Requests to the server, and answers from the cache instead. */
export interface JudgeUsage {
  readonly requests: number;
  readonly cached: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Answers that were not what was asked for. */
  readonly unreadable: number;
}

/** Bytes of an answer: a judge writes some thousand tokens. */
const MOST_BYTES = 16 << 20;

/** How often an answer that cannot be read is asked for. */
const TRIES = 3;

/** Asks a judge, once for each question: answers are kept. */
export class Endpoint {
  readonly #client: OpenAI;
  readonly #options: EndpointOptions;
  readonly #cache: AnswerCache;
  #usage = { requests: 0, cached: 0, promptTokens: 0, completionTokens: 0, unreadable: 0 };

  constructor(options: EndpointOptions, cache: AnswerCache) {
    const { baseUrl, apiKey, timeoutMs, retries } = options;
    this.#options = options;
    this.#cache = cache;
    this.#client = new OpenAI({
      baseURL: baseUrl,
      // The client insists on one; servers without keys do not look at it.
      apiKey: apiKey ?? 'none',
      organization: null,
      project: null,
      timeout: timeoutMs,
      maxRetries: retries,
      fetch: fetchLimited,
    });
  }

  get usage(): JudgeUsage {
    return this.#usage;
  }

  /** @throws JudgeError */
  async text(prompt: string): Promise<string> {
    return (await this.#ask(prompt, 0)).content;
  }

  /**
   * An answer in JSON, of which anything around it is left out.
   * @param rescue what can be made of an answer that is not JSON; `null` for nothing
   * @returns `null` where no try brought one that fits
   * @throws JudgeError
   */
  async json<T>(
    prompt: string,
    schema: z.ZodType<T>,
    rescue: (content: string) => T | null = () => null,
  ): Promise<T | null> {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const { content } = await this.#ask(prompt, attempt);
      const found = readJsonIn(content, schema);
      if (found !== null) return found;
      const rescued = attempt === TRIES - 1 ? rescue(content) : null;
      if (rescued !== null) return rescued;
    }
    this.#usage.unreadable += 1;
    return null;
  }

  async #ask(prompt: string, attempt: number): Promise<JudgeAnswer> {
    const parts = [PROMPTS_VERSION, this.#options.model, attempt, prompt];
    const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
    const known = this.#cache.get(key);
    if (known) {
      this.#usage.cached += 1;
      return known;
    }
    const answer = await this.#request(prompt);
    this.#usage.requests += 1;
    this.#usage.promptTokens += answer.promptTokens;
    this.#usage.completionTokens += answer.completionTokens;
    this.#cache.add(key, answer);
    return answer;
  }

  async #request(prompt: string): Promise<JudgeAnswer> {
    try {
      // At the server's temperature: some models refuse another.
      const { choices, usage } = await this.#client.chat.completions.create({
        model: this.#options.model,
        messages: [{ role: 'user', content: prompt }],
      });
      const content = choices?.[0]?.message?.content;
      if (typeof content !== 'string') throw new JudgeError(`${this.#name}: its answer contains no message`);
      return {
        content,
        promptTokens: usage?.prompt_tokens ?? 0,
        completionTokens: usage?.completion_tokens ?? 0,
      };
    } catch (cause) {
      if (cause instanceof JudgeError) throw cause;
      throw new JudgeError(`${this.#name}: ${explain(cause)}`, { cause });
    }
  }

  get #name(): string {
    return `judge ${this.#options.model} at ${this.#options.baseUrl}`;
  }
}

/** The client reads answers whole. */
const fetchLimited: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  return new Response((await readText(response.body, MOST_BYTES)) || null, response);
};

function explain(cause: unknown): string {
  if (cause instanceof OpenAI.AuthenticationError || cause instanceof OpenAI.PermissionDeniedError) {
    return `rejected the key (${cause.status}); it is read from FLINCH_JUDGE_KEY`;
  }
  if (cause instanceof OpenAI.APIConnectionTimeoutError) return 'did not answer in time';
  if (cause instanceof OpenAI.APIConnectionError) return `cannot be reached (${innermost(cause)})`;
  return cause instanceof Error ? cause.message : String(cause);
}

function innermost(error: Error): string {
  return error.cause instanceof Error ? innermost(error.cause) : error.message;
}
