import { EngineError } from './errors.js';
import { Inbox } from './inbox.js';
import type { EngineProcess, StreamHandle } from './process.js';
import type { FromScore, PassMessage, PassToken, ToScore } from './protocol.js';

export type PassRequest = Omit<PassMessage, 'type' | 'stream'>;

export interface PassResult {
  readonly tokens: readonly PassToken[];
  /** Positions that the pass ran over. */
  readonly positions: number;
}

/** A text in the score process: its clean KV cache, and one pass at a time. */
export class ScoreText {
  readonly #inbox = new Inbox<FromScore>();
  #handle: StreamHandle<ToScore> | null = null;

  private constructor() {}

  /** @throws EngineError `unavailable`, `closed` */
  static async open(process: EngineProcess<ToScore, FromScore>): Promise<ScoreText> {
    const text = new ScoreText();
    text.#handle = await process.attach({
      receive: (message) => text.#inbox.put(message),
      fail: (error) => text.#inbox.fail(error),
    });
    return text;
  }

  /** @throws EngineError `crashed`, `failed`, `closed` */
  async pass(request: PassRequest): Promise<PassResult> {
    if (!this.#handle) throw new EngineError('closed', 'the text was released');
    this.#handle.send({ type: 'pass', stream: this.#handle.stream, ...request });
    const message = await this.#inbox.take();
    if (message.type !== 'scored') {
      throw new EngineError(
        'failed',
        `scoring failed: ${message.type === 'failed' ? message.message : message.type}`,
      );
    }
    return { tokens: message.tokens, positions: message.positions };
  }

  /** Frees the cache. A pass that is waited for ends with an error. */
  release(): void {
    const handle = this.#handle;
    if (!handle) return;
    this.#handle = null;
    handle.send({ type: 'release', stream: handle.stream });
    handle.detach();
    this.#inbox.fail(new EngineError('closed', 'the text was released'));
  }
}
