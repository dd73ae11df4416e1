import type { TokenStatistics } from '../numerics/token-statistics.js';
import { Detokenizer } from '../tokenizer/detokenizer.js';
import type { Tokenizer } from '../tokenizer/tokenizer.js';
import { EngineError } from './engine-errors.js';
import type { FromDecode, GenerateMessage, SampledToken, ToDecode } from './engine-messages.js';
import type { ProcessLink, StreamHandle } from './engine-process.js';
import { Inbox } from './inbox.js';
import type { Sampling, TokenLogprob } from './sampler.js';
import type { Share } from './shared-hold.js';
import { TextAssembler } from './text-assembler.js';

/**
 * Tokens that the decode process may be ahead of the reader; few where a guard may have no use for them. Credit goes
 * back in portions: one message per token would cost more than the token of a small model.
 */
const AHEAD = 64;
const AHEAD_OF_GUARD = 8;
const PORTIONS = 4;

/** A request for a response. Only `promptIds` is required: the checkpoint gives the defaults. */
export interface GenerateRequest {
  /**
   * Client of the request. Generations of several clients are scored for the same time each. Keys and values
   * of a prompt are used again for prompts of the same client that begin alike, such as the next turn of a
   * conversation: the response is the same (up to rounding in int8), but comes earlier. Without a client nothing is kept, because a
   * fast answer would reveal that someone has asked before.
   */
  readonly client?: string;
  readonly promptIds: readonly number[];
  /** Default: that of generation_config.json, and a random seed. */
  readonly sampling?: { readonly [Name in keyof Sampling]?: Sampling[Name] | undefined } | undefined;
  /** Maximum tokens of the response. Default: the rest of the context. */
  readonly maxTokens?: number | undefined;
  /** Ids of tokens that end the response. Default: those of the checkpoint. */
  readonly endIds?: readonly number[] | undefined;
  /** Texts that end the response, and are not part of it. Default: none. */
  readonly stop?: readonly string[] | undefined;
  /** Number of most probable tokens that are told with each token. Default: 0. */
  readonly topLogprobs?: number | undefined;
  /** Whether each token comes with its {@link GeneratedToken.statistics}. */
  readonly statistics?: boolean;
  /** How many other continuations there may be at a time ({@link Generation.fork}): memory is set aside for them. */
  readonly forks?: number;
}

export interface CompleteRequest extends GenerateRequest {
  readonly sampling: Sampling;
  readonly maxTokens: number;
  readonly endIds: readonly number[];
  readonly stop: readonly string[];
  readonly topLogprobs: number;
}

/** Another continuation of what has been written so far. */
export interface GenerationFork {
  /** Tokens of the response that stay. */
  readonly keep: number;
  readonly sampling: Sampling;
}

/** A `token.delta` event whose id and log-probability are known: streams pass it on as it is. */
export interface GeneratedToken {
  readonly type: 'token.delta';
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  readonly id: number;
  /** The texts of all tokens, joined, are the response. */
  readonly text: string;
  /** Natural log, temperature 1. */
  readonly logprob: number;
  readonly topLogprobs: readonly TokenLogprob[];
  /** Present if the request asks for them. */
  readonly statistics?: TokenStatistics;
}

export interface GenerationEnd {
  readonly type: 'end';
  readonly reason: 'stop' | 'length';
  readonly tokens: number;
}

/** Joins tokens to text. Only the id is known of tokens that were kept. */
type Assembler = TextAssembler<Pick<SampledToken, 'id'> & Partial<SampledToken>>;

/** Parameters of the decode process that depend on the request. */
type Ask = Pick<GenerateMessage, 'client' | 'promptIds' | 'past' | 'sampling' | 'maxTokens'>;

/** Process and settings that generations of the same text share. */
export interface GenerationContext {
  readonly process: ProcessLink<ToDecode, FromDecode>;
  readonly tokenizer: Tokenizer;
  /** Held by each for as long as the process works for it. */
  readonly share: Share;
}

/**
 * A response that is being written. The reader pulls; the process writes only some tokens ahead, so a slow reader
 * slows the generation down instead of filling memory.
 *
 * One that may be forked stays with the process after its end, until it is cancelled.
 */
export class Generation {
  readonly #context: GenerationContext;
  readonly #request: CompleteRequest;
  readonly #inbox = new Inbox<FromDecode>();
  readonly #assembler: Assembler;
  readonly #ready: GeneratedToken[] = [];
  /** Ids of the response, as far as they have been read or are ready to be read. */
  readonly #ids: number[];
  readonly #ahead: number;
  #handle: StreamHandle<ToDecode> | null = null;
  #letGo: () => void = () => {};
  #reason: GenerationEnd['reason'] | null = null;
  #failure: EngineError | null = null;
  #written = 0;
  #cachedTokens = 0;
  #owed = 0;

  private constructor(context: GenerationContext, request: CompleteRequest, kept: readonly number[]) {
    this.#context = context;
    this.#request = request;
    this.#assembler = new TextAssembler(new Detokenizer(context.tokenizer), request.stop);
    for (const id of kept) this.#assembler.push({ id });
    this.#ids = [...kept];
    this.#ahead = request.forks ? AHEAD_OF_GUARD : AHEAD;
  }

  /** @throws EngineError `unavailable`, `closed` */
  static async start(context: GenerationContext, request: CompleteRequest): Promise<Generation> {
    const { client, promptIds, sampling, maxTokens } = request;
    const generation = new Generation(context, request, []);
    await generation.#ask({ ...(client && { client }), promptIds, sampling, maxTokens });
    return generation;
  }

  /**
   * Writes on from a part of this response, whose keys and values are copied, beside this one.
   * @throws EngineError `crashed`, `unavailable`, `closed`; RangeError for more tokens than have been read, or than may be
   *   written, or for more forks at a time than were asked for
   */
  async fork({ keep, sampling }: GenerationFork): Promise<Generation> {
    const handle = this.#handle;
    const { promptIds, forks = 0 } = this.#request;
    if (!handle) throw this.#failure ?? new EngineError('closed', 'the generation has ended');
    if (this.#context.share.holders > forks) {
      throw new RangeError(`forks: memory is set aside for ${forks} at a time`);
    }
    const maxTokens = this.#request.maxTokens - keep;
    if (keep < 0 || keep > this.#ids.length) {
      throw new RangeError(`keep: ${keep} of ${this.#ids.length} tokens`);
    }
    if (maxTokens <= 0) throw new RangeError(`keep: ${keep} leaves none to write`);
    const kept = this.#ids.slice(0, keep);
    const length = promptIds.length + keep - 1;
    const last = kept.at(-1) ?? promptIds.at(-1)!;
    const generation = new Generation(this.#context, this.#request, kept);
    const past = { stream: handle.stream, length };
    await generation.#ask({ promptIds: [last], past, sampling, maxTokens });
    return generation;
  }

  /** Tokens that have been written for it, read or not. */
  get written(): number {
    return this.#written;
  }

  /** Tokens of the prompt that were not read again; known before the first token. */
  get cachedTokens(): number {
    return this.#cachedTokens;
  }

  async #ask(ask: Ask): Promise<void> {
    const { process, share } = this.#context;
    const { endIds, topLogprobs, statistics, forks } = this.#request;
    this.#letGo = share.hold();
    try {
      const handle = await process.attach({
        receive: (message) => {
          if (message.type === 'token') this.#written += 1;
          if (message.type === 'begun') this.#cachedTokens = message.cachedTokens;
          else this.#inbox.put(message);
        },
        waits: () => this.#inbox.awaited,
        fail: (error) => {
          this.#failure = error;
          this.#release();
          this.#inbox.fail(error);
        },
      });
      this.#handle = handle;
      const { stream } = handle;
      const retain = Boolean(forks);
      const wanted = { endIds, topLogprobs, retain, ...(statistics && { statistics }) };
      handle.send({ type: 'generate', stream, credit: this.#ahead, ...wanted, ...ask });
    } catch (error) {
      this.#handle?.detach(); // the request could not be serialised
      this.#handle = null;
      this.#letGo();
      throw error;
    }
  }

  /**
   * The next token, or the end, which comes again if asked again.
   * @throws EngineError `crashed`, `failed`, `closed` (also after {@link cancel})
   */
  async next(): Promise<GeneratedToken | GenerationEnd> {
    for (;;) {
      const token = this.#ready.shift();
      if (token) return token;
      if (this.#reason) return { type: 'end', reason: this.#reason, tokens: this.#ids.length };
      this.#accept(await this.#inbox.take());
    }
  }

  /** Stops the work between two runs; a reader that waits gets an error. Harmless after the end. */
  cancel(): void {
    this.#release();
    this.#inbox.fail(new EngineError('closed', 'the generation was cancelled'));
  }

  #accept(message: FromDecode): void {
    if (message.type === 'token') {
      const { tokens, stopped } = this.#assembler.push(message);
      this.#settle(tokens);
      if (stopped) this.#finish('stop');
      else this.#repay();
    } else if (message.type === 'end') {
      this.#settle(this.#assembler.end());
      this.#finish(message.reason);
    } else if (message.type === 'failed') {
      this.#release();
      throw new EngineError('failed', `generation failed: ${message.message}`);
    }
  }

  #settle(tokens: ReturnType<Assembler['end']>): void {
    for (const { token, text } of tokens) {
      const { id, logprob, top, statistics } = token;
      if (logprob === undefined || top === undefined) continue; // kept: emitted by the generation that wrote it
      const index = this.#ids.length;
      const more = statistics && { statistics };
      this.#ready.push({ type: 'token.delta', index, id, text, logprob, topLogprobs: top, ...more });
      this.#ids.push(id);
    }
  }

  #repay(): void {
    this.#owed += 1;
    if (this.#owed < this.#ahead / PORTIONS || !this.#handle) return;
    this.#handle.send({ type: 'credit', stream: this.#handle.stream, tokens: this.#owed });
    this.#owed = 0;
  }

  #finish(reason: GenerationEnd['reason']): void {
    this.#reason = reason;
    if (!this.#request.forks) this.#release();
  }

  #release(): void {
    const handle = this.#handle;
    if (!handle) return;
    this.#handle = null;
    handle.send({ type: 'cancel', stream: handle.stream });
    handle.detach();
    this.#letGo();
  }
}
