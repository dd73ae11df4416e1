import { EngineError } from './errors.js';
import { Inbox } from './inbox.js';
import type { EngineProcess, StreamHandle } from './process.js';
import type { FromScore, LaneOptions, PassMessage, PassToken, SampleMessage, ToScore } from './protocol.js';
import { checkIds } from './token-ids.js';

export type PassRequest = Omit<PassMessage, 'type' | 'stream'>;
export type SampleRequest = Omit<SampleMessage, 'type' | 'stream'>;

export interface PassResult {
  readonly tokens: readonly PassToken[];
  /** Positions that the pass ran over. */
  readonly positions: number;
}

/** A text in the score process: its clean KV cache, and one pass at a time. */
export class ScoreText {
  readonly #inbox = new Inbox<FromScore>();
  #handle: StreamHandle<ToScore> | null = null;

  readonly #vocabSize: number;
  readonly #onEnd: () => void;
  #asked = false;

  private constructor(vocabSize: number, onEnd: () => void) {
    this.#vocabSize = vocabSize;
    this.#onEnd = onEnd;
  }

  /**
   * @param onEnd called when the process no longer holds it
   * @throws EngineError `unavailable`, `closed`
   */
  static async open(
    process: EngineProcess<ToScore, FromScore>,
    vocabSize: number,
    onEnd: () => void,
  ): Promise<ScoreText> {
    const text = new ScoreText(vocabSize, onEnd);
    text.#handle = await process.attach({
      receive: (message) => text.#inbox.put(message),
      fail: (error) => {
        onEnd();
        text.#inbox.fail(error);
      },
    });
    return text;
  }

  /** @throws EngineError `crashed`, `failed`, `closed`; RangeError for an id outside the vocabulary */
  async pass(request: PassRequest): Promise<PassResult> {
    const message = await this.#ask({ type: 'pass', ...request });
    if (message.type !== 'scored') throw unexpected(message);
    return { tokens: message.tokens, positions: message.positions };
  }

  /** Replaces the perturbed copies of the text. */
  openLanes(options: LaneOptions): void {
    this.#send({ type: 'lanes', options });
  }

  /**
   * What each of the perturbed copies says of tokens `from` to `to − 1`, `[token][lane]`.
   * @throws EngineError `crashed`, `failed`, `closed`
   */
  async sample(request: SampleRequest): Promise<readonly (readonly number[])[]> {
    const message = await this.#ask({ type: 'sample', ...request });
    if (message.type !== 'sampled') throw unexpected(message);
    return message.values;
  }

  /** Frees the cache. A pass that is waited for ends with an error. */
  release(): void {
    const handle = this.#handle;
    if (!handle) return;
    this.#handle = null;
    handle.send({ type: 'release', stream: handle.stream });
    handle.detach();
    this.#onEnd();
    this.#inbox.fail(new EngineError('closed', 'the text was released'));
  }

  async #ask(message: Unaddressed<PassMessage> | Unaddressed<SampleMessage>): Promise<FromScore> {
    if (this.#asked) throw new EngineError('failed', 'a text answers one question at a time');
    checkIds('newIds', message.newIds, this.#vocabSize);
    this.#asked = true;
    try {
      this.#send(message);
      return await this.#inbox.take();
    } finally {
      this.#asked = false;
    }
  }

  #send(message: Unaddressed<ToScore>): void {
    if (!this.#handle) throw new EngineError('closed', 'the text was released');
    this.#handle.send({ ...message, stream: this.#handle.stream });
  }
}

/** A message to a text, before it is known which. */
type Unaddressed<Message> = Message extends { readonly stream: number } ? Omit<Message, 'stream'> : never;

function unexpected(message: FromScore): EngineError {
  const reason = message.type === 'failed' ? message.message : message.type;
  return new EngineError('failed', `scoring failed: ${reason}`);
}
