import { TURNS } from '../../../src/stream/turns.js';
import type { AnswerForm } from '../servers/dialect.js';
import { UpstreamError } from '../upstream-error.js';
import { Messages } from './answer-messages.js';
import { type Chunk, readChunks, readVerbatim, readWhole, readWholeVerbatim } from './chunks.js';
import type { Exchange } from './exchange.js';
import { JoinedParts } from './joined-parts.js';
import { readResponseVerbatim, readWholeResponse, responseReader } from './response-chunks.js';

const DONE = '[DONE]';

type ReadMessage = (message: string) => Chunk | readonly Chunk[];

function readerOf({ isResponse, verbatim, whole }: AnswerForm): ReadMessage {
  if (isResponse) return whole ? readWholeResponse : verbatim ? readResponseVerbatim : responseReader();
  if (verbatim) return whole ? readWholeVerbatim : readVerbatim;
  return whole ? readWhole : readChunks;
}

/** A short message takes as much time as so many bytes, however little of it there is. */
const MESSAGE_BYTES = 128;

type Source = Pick<Exchange, 'read' | 'leave' | 'patience' | 'timeout'>;

/** Maximum characters of a line or event of an answer, which may be all of it, or an image. */
const MAX_MESSAGE = 16 << 20;

/**
 * The chunks of an answer, of which no more come once the server has said that it is over. Time limits are for chunks
 * that say something: comments, empty chunks and bytes of a line that does not end are no progress.
 */
export class ChunkReader {
  readonly #messages: Messages;
  readonly #exchange: Source;
  /** Whether its last message says that it is the last; others have a mark of their own. */
  readonly #ends: boolean;
  readonly #read: ReadMessage;
  readonly #refused: (message: string) => UpstreamError | null;
  /** Messages that have come, and the index of the next one. */
  #waiting: readonly string[] = [];
  #next = 0;
  /** Its part of what is read in one turn of the event loop. */
  readonly #share = TURNS.share();
  /** `null` for an answer that is passed on in chunks: nothing of it is joined here. */
  readonly #joined: JoinedParts | null;
  #started = false;
  #finished = false;
  #over = false;
  #bodyEnded = false;
  /** Error of a message after chunks that are read before it is thrown. */
  #failure: { readonly error: unknown } | null = null;
  /** Remaining time of reading until a chunk has to say something. */
  #patienceMs: number;

  /** @param refused refusal in the first message; `null` if there is none */
  constructor(exchange: Source, form: AnswerForm, refused: (message: string) => UpstreamError | null) {
    const { isResponse, verbatim, whole } = form;
    this.#refused = refused;
    this.#exchange = exchange;
    this.#ends = isResponse || whole;
    this.#read = readerOf(form);
    this.#joined = verbatim && !isResponse ? null : new JoinedParts();
    this.#patienceMs = exchange.patience.firstMs;
    this.#messages = new Messages(whole, MAX_MESSAGE);
  }

  /**
   * The chunks that have come since, at least one and as many as may be read at once; `null` after the last.
   * @throws UpstreamError also for an answer that ends without a reason, or in the middle
   */
  async read(): Promise<readonly Chunk[] | null> {
    if (this.#failure) throw this.#failure.error;
    const chunks: Chunk[] = [];
    let late = false;
    let from = performance.now();
    // Also time in which bytes come without a pause: a line may go on for ever.
    const spend = (): void => {
      const now = performance.now();
      this.#patienceMs -= now - from;
      from = now;
    };
    while (chunks.length === 0 && !this.#over) {
      if (this.#share.over) {
        spend();
        await this.#share.next();
        from = performance.now(); // others had this time
      }
      if (this.#next === this.#waiting.length) {
        if (this.#bodyEnded) {
          if (!this.#finished)
            throw new UpstreamError('upstream_error', "the upstream's answer is incomplete");
          this.#over = true; // some servers send no [DONE]
          break;
        }
        spend();
        late = this.#patienceMs <= 0;
        this.#receive(await this.#exchange.read(Math.max(0, this.#patienceMs)));
        spend();
      }
      try {
        while (this.#next < this.#waiting.length && !this.#share.over && !this.#over) {
          const message = this.#waiting[this.#next++] ?? '';
          this.#share.spend(MESSAGE_BYTES);
          if (message.trim() === DONE) this.#end();
          else for (const chunk of this.#chunksOf(message)) chunks.push(this.#checked(chunk));
        }
      } catch (error) {
        if (chunks.length === 0) throw error;
        this.#failure = { error };
      }
      if (chunks.some(({ says }) => says)) return chunks;
      // What had come when time was over has been read.
      if (late && !this.#bodyEnded && !this.#over && this.#next === this.#waiting.length)
        throw this.#exchange.timeout;
    }
    spend();
    return chunks.length > 0 ? chunks : null;
  }

  #receive(bytes: Uint8Array | null): void {
    this.#bodyEnded = bytes === null;
    this.#share.spend(Math.max(MESSAGE_BYTES, bytes?.length ?? 0));
    this.#waiting = bytes ? this.#messages.push(bytes) : this.#messages.end();
    this.#next = 0;
  }

  #chunksOf(message: string): readonly Chunk[] {
    const refusal = this.#started ? null : this.#refused(message);
    this.#started = true;
    if (refusal) throw refusal;
    return [this.#read(message)].flat();
  }

  #checked(chunk: Chunk): Chunk {
    if (chunk.beside) this.#joined?.add(chunk.beside.chunk);
    if (chunk.says) this.#patienceMs = this.#exchange.patience.nextMs;
    if (this.#finished && (chunk.text !== '' || chunk.parts.length > 0))
      throw new UpstreamError('upstream_error', 'the upstream went on after its finish_reason');
    if (chunk.finishReason !== null) {
      this.#finished = true;
      this.#over = this.#ends;
      if (this.#over) this.#exchange.leave();
    }
    return chunk;
  }

  #end(): void {
    if (!this.#finished) {
      throw new UpstreamError('upstream_error', 'the upstream sent no finish_reason');
    }
    this.#over = true;
    this.#exchange.leave();
  }
}
