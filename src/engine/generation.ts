import { Detokenizer } from '../model/detokenizer.js';
import type { Tokenizer } from '../model/tokenizer.js';
import { EngineError } from './errors.js';
import { Inbox } from './inbox.js';
import type { EngineProcess, StreamHandle } from './process.js';
import type { FromDecode, ToDecode } from './protocol.js';
import type { Sampling, TokenLogprob } from './sampler.js';
import { TextAssembler } from './text-assembler.js';

/** Tokens that the decode process may be ahead of the reader. */
const AHEAD = 64;
/** Credit goes back in portions: one message per token would cost more than the token of a small model. */
const CREDIT = 16;

export interface GenerateRequest {
  readonly promptIds: readonly number[];
  readonly sampling: Sampling;
  readonly maxTokens: number;
  readonly endIds: readonly number[];
  readonly stop: readonly string[];
  readonly topLogprobs: number;
}

export interface GeneratedToken {
  readonly type: 'token';
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  readonly id: number;
  /** The texts of all tokens, joined, are the response. */
  readonly text: string;
  /** Natural log, temperature 1. */
  readonly logprob: number;
  readonly topLogprobs: readonly TokenLogprob[];
}

export interface GenerationEnd {
  readonly type: 'end';
  readonly reason: 'stop' | 'length';
  readonly tokens: number;
}

type Sampled = Extract<FromDecode, { type: 'token' }>;

/**
 * A response that is being written. The reader pulls; the process writes at most {@link AHEAD} tokens ahead, so a
 * slow reader slows the generation down instead of filling memory.
 */
export class Generation {
  readonly #inbox = new Inbox<FromDecode>();
  readonly #assembler: TextAssembler<Sampled>;
  readonly #ready: GeneratedToken[] = [];
  #handle: StreamHandle<ToDecode> | null = null;
  #reason: GenerationEnd['reason'] | null = null;
  #tokens = 0;
  #owed = 0;
  readonly #onEnd: () => void;

  private constructor(tokenizer: Tokenizer, stop: readonly string[], onEnd: () => void) {
    this.#assembler = new TextAssembler(new Detokenizer(tokenizer), stop);
    this.#onEnd = onEnd;
  }

  /**
   * @param onEnd called once, when the process no longer works for it
   * @throws EngineError `unavailable`, `closed`
   */
  static async start(
    process: EngineProcess<ToDecode, FromDecode>,
    tokenizer: Tokenizer,
    request: GenerateRequest,
    onEnd: () => void,
  ): Promise<Generation> {
    const { stop, ...rest } = request;
    const generation = new Generation(tokenizer, stop, onEnd);
    const inbox = generation.#inbox;
    const handle = await process.attach({
      receive: (message) => inbox.put(message),
      fail: (error) => {
        generation.#release();
        inbox.fail(error);
      },
    });
    generation.#handle = handle;
    try {
      handle.send({ type: 'generate', stream: handle.stream, credit: AHEAD, ...rest });
    } catch (error) {
      handle.detach(); // it could not be serialised
      throw error;
    }
    return generation;
  }

  /**
   * The next token, or the end, which comes again if asked again.
   * @throws EngineError `crashed`, `failed`, `closed` (also after {@link cancel})
   */
  async next(): Promise<GeneratedToken | GenerationEnd> {
    for (;;) {
      const token = this.#ready.shift();
      if (token) return token;
      if (this.#reason) return { type: 'end', reason: this.#reason, tokens: this.#tokens };
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

  #settle(tokens: readonly { readonly token: Sampled; readonly text: string }[]): void {
    for (const { token, text } of tokens) {
      const { id, logprob, top } = token;
      this.#ready.push({ type: 'token', index: this.#tokens, id, text, logprob, topLogprobs: top });
      this.#tokens += 1;
    }
  }

  #repay(): void {
    this.#owed += 1;
    if (this.#owed < CREDIT || !this.#handle) return;
    this.#handle.send({ type: 'credit', stream: this.#handle.stream, tokens: this.#owed });
    this.#owed = 0;
  }

  #finish(reason: GenerationEnd['reason']): void {
    this.#reason = reason;
    this.#release();
  }

  #release(): void {
    const handle = this.#handle;
    if (!handle) return;
    this.#handle = null;
    handle.send({ type: 'cancel', stream: handle.stream });
    handle.detach();
    this.#onEnd();
  }
}
