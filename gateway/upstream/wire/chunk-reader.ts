import { setImmediate } from 'node:timers/promises';
import { UpstreamError } from '../errors.js';
import type { Call } from '../servers/dialect.js';
import {
  type Chunk,
  readChunk,
  readGenerateLine,
  readVerbatim,
  readWhole,
  readWholeVerbatim,
} from './chunks.js';
import type { Exchange } from './exchange.js';
import { JoinedParts } from './joined-parts.js';
import { Messages } from './messages.js';
import { readResponseVerbatim, readWholeResponse, responseReader } from './response-events.js';

const DONE = '[DONE]';

/** Readers for the messages of one answer. */
const READERS = {
  chunk: () => readChunk,
  generate: () => readGenerateLine,
  verbatim: () => readVerbatim,
  response: responseReader,
  'verbatim-response': () => readResponseVerbatim,
  'whole-chunk': () => readWhole,
  'whole-verbatim': () => readWholeVerbatim,
  'whole-response': () => readWholeResponse,
  'whole-verbatim-response': () => readWholeResponse,
} as const;

/** Formats whose last message says that it is the last; others have a mark of their own. */
const ENDS: ReadonlySet<Call['format']> = new Set([
  ...(['generate', 'response', 'verbatim-response'] as const),
  ...(['whole-chunk', 'whole-verbatim', 'whole-response', 'whole-verbatim-response'] as const),
]);

/** Bytes that are read in one turn of the event loop: what else the process does comes in between. */
const BYTES_AT_ONCE = 128 << 10;
/** A short message takes as much time as so many bytes, however little of it there is. */
const MESSAGE_BYTES = 128;

/** Maximum characters of a line or event of an answer, which may be all of it, or an image. */
const MAX_MESSAGE = 16 << 20;

/**
 * The chunks of an answer, of which no more come once the server has said that it is over. Time limits are for chunks
 * that say something: comments and empty chunks are no progress.
 */
export class ChunkReader {
  readonly #messages: Messages;
  readonly #exchange: Exchange;
  readonly #call: Pick<Call, 'format'>;
  readonly #read: (message: string) => Chunk;
  readonly #refused: (message: string) => UpstreamError | null;
  /** Messages that have come, and the index of the next one. */
  #waiting: readonly string[] = [];
  #next = 0;
  /** Bytes read since others had their turn. */
  #atOnce = 0;
  /** `null` for an answer that is passed on in chunks: nothing of it is joined here. */
  readonly #joined: JoinedParts | null;
  #begun = false;
  #finished = false;
  #over = false;
  #bodyEnded = false;
  /** Error of a message after chunks that are read before it is thrown. */
  #failure: { readonly error: unknown } | null = null;
  /** Remaining time until a chunk has to say something. */
  #patienceMs: number;

  /** @param refused refusal in the first message; `null` if there is none */
  constructor(
    exchange: Exchange,
    call: Pick<Call, 'format' | 'framing'>,
    refused: (message: string) => UpstreamError | null,
  ) {
    this.#refused = refused;
    this.#exchange = exchange;
    this.#call = call;
    this.#read = READERS[call.format]();
    const passed = call.format === 'verbatim' || call.format === 'whole-verbatim';
    this.#joined = passed ? null : new JoinedParts();
    this.#patienceMs = exchange.patience.firstMs;
    this.#messages = new Messages(call.framing, MAX_MESSAGE);
  }

  /**
   * The chunks that have come since, at least one and as many as may be read at once; `null` after the last.
   * @throws UpstreamError also for an answer that ends without a reason, or in the middle
   */
  async read(): Promise<readonly Chunk[] | null> {
    if (this.#failure) throw this.#failure.error;
    const chunks: Chunk[] = [];
    while (chunks.length === 0 && !this.#over) {
      if (this.#atOnce >= BYTES_AT_ONCE) {
        await setImmediate();
        this.#atOnce = 0;
      }
      if (this.#next === this.#waiting.length) {
        if (this.#bodyEnded) {
          if (!this.#finished)
            throw new UpstreamError('upstream_error', "the upstream's answer is incomplete");
          this.#over = true; // some servers send no [DONE]
          break;
        }
        const from = performance.now();
        const bytes = await this.#exchange.read(Math.max(0, this.#patienceMs));
        this.#patienceMs -= performance.now() - from;
        this.#receive(bytes);
      }
      try {
        while (this.#next < this.#waiting.length && this.#atOnce < BYTES_AT_ONCE && !this.#over) {
          const message = this.#waiting[this.#next++] ?? '';
          this.#atOnce += MESSAGE_BYTES;
          if (message === DONE) this.#end();
          else chunks.push(this.#chunkOf(message));
        }
      } catch (error) {
        if (chunks.length === 0) throw error;
        this.#failure = { error };
      }
    }
    return chunks.length > 0 ? chunks : null;
  }

  #receive(bytes: Uint8Array | null): void {
    this.#bodyEnded = bytes === null;
    this.#atOnce += Math.max(MESSAGE_BYTES, bytes?.length ?? 0);
    this.#waiting = bytes ? this.#messages.push(bytes) : this.#messages.end();
    this.#next = 0;
  }

  #chunkOf(message: string): Chunk {
    const refusal = this.#begun ? null : this.#refused(message);
    this.#begun = true;
    if (refusal) throw refusal;
    const chunk = this.#read(message);
    if (chunk.beside) this.#joined?.add(chunk.beside.chunk);
    if (chunk.says) this.#patienceMs = this.#exchange.patience.nextMs;
    if (this.#finished && (chunk.text !== '' || chunk.parts.length > 0))
      throw new UpstreamError('upstream_error', 'the upstream went on after its finish_reason');
    if (chunk.finishReason !== null) {
      this.#finished = true;
      this.#over = ENDS.has(this.#call.format);
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
