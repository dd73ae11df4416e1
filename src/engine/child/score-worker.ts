import { setImmediate } from 'node:timers/promises';
import type { ModelSource } from '../../model/decoder.js';
import { RotaryEmbedding } from '../../model/rope.js';
import { ScoreCache } from '../kv-cache.js';
import type { FromScore, PassMessage } from '../protocol.js';
import type { Session } from '../session.js';
import { runPass } from './score-pass.js';

/** Positions in one run when the keys and values before a window are computed. */
const PREFILL_CHUNK = 256;

interface Text {
  readonly ids: number[];
  readonly cache: ScoreCache;
}

export interface ScoreWorkerOptions {
  /** The graph with the adversary, and the plain forward pass. */
  readonly adversarial: Session;
  readonly forward: Session;
  readonly source: ModelSource;
  readonly contextLength: number;
  readonly send: (message: FromScore) => void;
}

/**
 * Runs score passes in the order in which they are asked for. A stream waits for its pass before it asks for the
 * next, so that order serves all streams in turn. Nothing perturbed is kept between passes: only the clean keys
 * and values of the text.
 */
export class ScoreWorker {
  readonly #options: ScoreWorkerOptions;
  readonly #rotary: RotaryEmbedding;
  readonly #texts = new Map<number, Text>();
  readonly #queue: PassMessage[] = [];
  #running = false;

  constructor(options: ScoreWorkerOptions) {
    this.#options = options;
    this.#rotary = new RotaryEmbedding(options.source.config);
  }

  pass(message: PassMessage): void {
    this.#queue.push(message);
    if (!this.#texts.has(message.stream)) {
      const cache = new ScoreCache(this.#options.source.config, this.#options.contextLength);
      this.#texts.set(message.stream, { ids: [], cache });
    }
    void this.#run();
  }

  release(stream: number): void {
    this.#texts.delete(stream);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (let message = this.#queue.shift(); message; message = this.#queue.shift()) {
      const text = this.#texts.get(message.stream);
      if (text) await this.#turn(message, text);
      await setImmediate();
    }
    this.#running = false;
  }

  /** One run: the pass, or a part of what has to be known before it, after which others have their turn. */
  async #turn(message: PassMessage, text: Text): Promise<void> {
    const { stream, newIds, ...range } = message;
    try {
      text.ids.push(...newIds);
      if (text.cache.length < range.start) {
        await this.#fill(text, range.start);
        this.#queue.push({ ...message, newIds: [] });
      } else {
        this.#options.send({ type: 'scored', stream, ...(await this.#score(range, text)) });
      }
    } catch (error) {
      this.#options.send({ type: 'failed', stream, message: String(error) });
    }
  }

  async #score(
    { start, from, to, alpha }: Omit<PassMessage, 'type' | 'stream' | 'newIds'>,
    { ids, cache }: Text,
  ) {
    const session = alpha === null ? this.#options.forward : this.#options.adversarial;
    const window = { cache, start, ids: ids.slice(start, to - 1), targets: ids.slice(from, to) };
    const [result] = await runPass(session, this.#options.source.config, this.#rotary, [window], alpha);
    cache.cut(start);
    cache.append(window.ids.length, result!.layers);
    return { tokens: result!.tokens, positions: window.ids.length };
  }

  /** Computes clean keys and values before `end` that are not held yet, at most a chunk of them. */
  async #fill({ ids, cache }: Text, end: number): Promise<void> {
    const start = cache.length;
    const chunk = ids.slice(start, Math.min(end, start + PREFILL_CHUNK));
    // onnxruntime dies of a division by zero when no row is scored: one is, for nothing.
    const window = { cache, start, ids: chunk, targets: [0] };
    const { config } = this.#options.source;
    const [result] = await runPass(this.#options.forward, config, this.#rotary, [window], null);
    cache.append(chunk.length, result!.layers);
  }
}
