import { EngineError } from './engine-errors.js';
import type {
  ForkMessage,
  FromScore,
  PassMessage,
  ReadMessage,
  ReplicaOptions,
  SampleMessage,
  ToScore,
} from './engine-messages.js';
import type { ProcessLink, StreamHandle } from './engine-process.js';
import { Inbox } from './inbox.js';
import type { Share } from './shared-hold.js';

type Request<Message> = Omit<Message, 'type' | 'stream' | 'client'>;

interface ScoreContext {
  readonly process: ProcessLink<ToScore, FromScore>;
  readonly vocabSize: number;
  readonly client: string;
  /** Held by each sequence for as long as the process holds it. */
  readonly share: Share;
  /** Called with the duration of each pass and each sample, including the wait for others. */
  readonly passed: (ms: number) => void;
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
}

type ScoredMessage = Extract<FromScore, { readonly type: 'scored' }>;

/** A sequence in the score process: its clean KV cache, and one pass at a time. */
export class ScoreSequence {
  readonly #context: ScoreContext;
  readonly #inbox = new Inbox<FromScore>();
  #handle: StreamHandle<ToScore> | null = null;
  #letGo: () => void = () => {};
  #asked = false;

  private constructor(context: ScoreContext) {
    this.#context = context;
  }

  /** @throws EngineError `unavailable`, `closed` */
  static async open(context: ScoreContext): Promise<ScoreSequence> {
    const sequence = new ScoreSequence(context);
    sequence.#letGo = context.share.hold();
    try {
      sequence.#handle = await context.process.attach({
        receive: (message) => sequence.#inbox.put(message),
        waits: () => sequence.#inbox.awaited,
        fail: (error) => {
          sequence.#letGo();
          sequence.#inbox.fail(error);
        },
      });
      return sequence;
    } catch (error) {
      sequence.#letGo();
      throw error;
    }
  }

  /**
   * Another sequence that begins with the same `length` tokens; what is known of them is copied.
   * @throws EngineError `failed` for more tokens than a pass has brought, `crashed`, `unavailable`, `closed`
   */
  async fork(length: number): Promise<ScoreSequence> {
    const { stream: of } = this.#open();
    const sequence = await ScoreSequence.open(this.#context);
    try {
      const message = await sequence.#ask({ type: 'fork', of, length });
      if (message.type !== 'forked') throw unexpected(message);
      return sequence;
    } catch (error) {
      sequence.release();
      throw error;
    }
  }

  /**
   * Reads the beginning of the text, before anything is asked about it.
   * @throws EngineError `crashed`, `failed`, `closed`; RangeError for an id outside the vocabulary
   */
  async read(request: Request<ReadMessage>): Promise<void> {
    checkIds('newIds', request.newIds, this.#context.vocabSize);
    const message = await this.#ask({ type: 'read', ...request });
    if (message.type !== 'read') throw unexpected(message);
  }

  /** @throws EngineError `crashed`, `failed`, `closed`; RangeError for an id outside the vocabulary */
  async pass(request: Request<PassMessage>): Promise<Pick<ScoredMessage, 'tokens' | 'positions'>> {
    checkIds('newIds', request.newIds, this.#context.vocabSize);
    const message = await this.#timed({ type: 'pass', ...request });
    if (message.type !== 'scored') throw unexpected(message);
    return message;
  }

  /** Replaces the perturbed copies of the sequence. */
  openReplicas(options: ReplicaOptions): void {
    this.#send({ type: 'replicas', options });
  }

  /**
   * Log-probability of tokens `from` to `to − 1` under each of the perturbed copies, `[token][replica]`.
   * @throws EngineError `crashed`, `failed`, `closed`
   */
  async sample(request: Request<SampleMessage>): Promise<readonly (readonly number[])[]> {
    checkIds('newIds', request.newIds, this.#context.vocabSize);
    const message = await this.#timed({ type: 'sample', ...request });
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
    this.#letGo();
    this.#inbox.fail(new EngineError('closed', 'the sequence was released'));
  }

  async #timed(message: Unaddressed<PassMessage | SampleMessage>): Promise<FromScore> {
    const { passed, now } = this.#context;
    const start = now();
    const answer = await this.#ask(message);
    if (answer.type !== 'failed') passed(now() - start);
    return answer;
  }

  async #ask(
    message: Unaddressed<ReadMessage | PassMessage | SampleMessage | ForkMessage>,
  ): Promise<FromScore> {
    if (this.#asked) throw new EngineError('failed', 'a sequence handles one request at a time');
    this.#asked = true;
    try {
      this.#send({ ...message, client: this.#context.client });
      return await this.#inbox.take();
    } finally {
      this.#asked = false;
    }
  }

  #send(message: Unaddressed<ToScore>): void {
    const handle = this.#open();
    handle.send({ ...message, stream: handle.stream });
  }

  #open(): StreamHandle<ToScore> {
    if (!this.#handle) throw new EngineError('closed', 'the sequence was released');
    return this.#handle;
  }
}

/** A message to a sequence, before it is known which. */
type Unaddressed<Message> = Message extends { readonly stream: number } ? Omit<Message, 'stream'> : never;

function unexpected(message: FromScore): EngineError {
  const reason = message.type === 'failed' ? message.message : message.type;
  return new EngineError('failed', `scoring failed: ${reason}`);
}

/**
 * Several texts share a run, and onnxruntime fails it whole for an id that the model does not have.
 * @throws RangeError that names the field and the place
 */
export function checkIds(field: string, ids: readonly number[], vocabSize: number): void {
  const index = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (index < 0) return;
  throw new RangeError(`${field}[${index}]: ${ids[index]} is not in the vocabulary of ${vocabSize}`);
}
