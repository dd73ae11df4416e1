import { setImmediate } from 'node:timers/promises';
import type { ModelSource } from '../../model/decoder.js';
import { RotaryEmbedding } from '../../model/rope.js';
import { DecodeCache } from '../kv-cache.js';
import type { FromDecode, GenerateMessage } from '../protocol.js';
import { Sampler, topTokens } from '../sampler.js';
import { floats, ints, longs, type Session } from '../session.js';

/** Prompt tokens in one run: short enough that other streams and cancellations do not wait long. */
const PREFILL_CHUNK = 128;

interface Stream {
  readonly request: GenerateMessage;
  readonly sampler: Sampler;
  readonly cache: DecodeCache;
  /** Tokens that the model has not seen yet: the rest of the prompt, then the last token drawn. */
  pending: readonly number[];
  generated: number;
  credit: number;
}

export interface DecodeWorkerOptions {
  readonly session: Session;
  readonly source: ModelSource;
  readonly contextLength: number;
  readonly send: (message: FromDecode) => void;
}

/**
 * Generates several texts, one run each in turn. Between two runs the event loop is free: that is when
 * cancellations and credit arrive.
 */
export class DecodeWorker {
  readonly #options: DecodeWorkerOptions;
  readonly #rotary: RotaryEmbedding;
  readonly #streams = new Map<number, Stream>();
  #running = false;

  constructor(options: DecodeWorkerOptions) {
    this.#options = options;
    this.#rotary = new RotaryEmbedding(options.source.config);
  }

  generate(request: GenerateMessage): void {
    this.#streams.set(request.stream, {
      request,
      sampler: new Sampler(request.sampling),
      cache: new DecodeCache(this.#options.source.config, this.#options.contextLength),
      pending: request.promptIds,
      generated: 0,
      credit: request.credit,
    });
    void this.#run();
  }

  credit(id: number, tokens: number): void {
    const stream = this.#streams.get(id);
    if (stream) stream.credit += tokens;
    void this.#run();
  }

  cancel(id: number): void {
    this.#streams.delete(id);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let stream = this.#next(); stream; stream = this.#next()) {
      await this.#turn(stream);
      await setImmediate();
    }
    this.#running = false;
  }

  /** The stream that has waited longest, of those that may go on; it goes to the end of the line. */
  #next(): Stream | undefined {
    for (const [id, stream] of this.#streams) {
      if (stream.credit === 0) continue;
      this.#streams.delete(id);
      this.#streams.set(id, stream);
      return stream;
    }
    return undefined;
  }

  async #turn(stream: Stream): Promise<void> {
    const id = stream.request.stream;
    try {
      const logprobs = await this.#step(stream);
      if (!logprobs || !this.#streams.has(id)) return;
      const token = stream.sampler.sample(logprobs);
      const logprob = logprobs[token]!;
      if (!Number.isFinite(logprob)) throw new Error('the log-probability of the drawn token is not finite');
      if (stream.request.endIds.includes(token)) return this.#end(id, 'stop');
      const top = topTokens(logprobs, stream.request.topLogprobs);
      this.#options.send({ type: 'token', stream: id, id: token, logprob, top });
      stream.credit -= 1;
      stream.generated += 1;
      stream.pending = [token];
      if (stream.generated === stream.request.maxTokens) this.#end(id, 'length');
    } catch (error) {
      this.#streams.delete(id);
      this.#options.send({ type: 'failed', stream: id, message: String(error) });
    }
  }

  #end(id: number, reason: 'stop' | 'length'): void {
    this.#streams.delete(id);
    this.#options.send({ type: 'end', stream: id, reason });
  }

  /** One run → log-probabilities of the next token `[vocab]`, or `null` while the prompt is not finished. */
  async #step(stream: Stream): Promise<Float32Array | null> {
    const { cache } = stream;
    const ids = stream.pending.slice(0, PREFILL_CHUNK);
    const total = cache.length + ids.length;
    cache.reserve(total);
    const { inputs, outputs } = cache.tensors();
    const { cos, sin } = this.#rotary.angles(ids.map((_, i) => cache.length + i));
    const angles = [1, ids.length, this.#options.source.config.headDim / 2];
    const feeds = {
      ids: longs(ids, [1, ids.length]),
      cos: floats(cos, angles),
      sin: floats(sin, angles),
      rows: longs([ids.length - 1], [1]),
      last_key: ints([total - 1], [1]),
      total_length: ints([total], []),
      ...inputs,
    };
    const { logprobs } = await this.#options.session.run(feeds, { logprobs: null, ...outputs });
    cache.length = total;
    stream.pending = stream.pending.slice(ids.length);
    if (stream.pending.length > 0) return null;
    if (!(logprobs?.data instanceof Float32Array)) throw new Error('the decode graph returned no logprobs');
    return logprobs.data;
  }
}
