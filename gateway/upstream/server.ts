import type { UpstreamModelConfig } from '../config.js';
import { ChunkReader } from './answer.js';
import { probe } from './capabilities.js';
import type { Chunk } from './chunks.js';
import { type Call, callOf, type Dialect, wayOf } from './dialect.js';
import { UpstreamError } from './errors.js';
import type { Exchange } from './exchange.js';
import { UpstreamHttp } from './http.js';
import { refusalOf } from './refusal.js';
import { TokenAligner } from './token-aligner.js';
import type {
  Capabilities,
  UpstreamAnswer,
  UpstreamEnd,
  UpstreamPiece,
  UpstreamRequest,
} from './upstream.js';

export interface UpstreamServerOptions {
  /** Up to and with `/v1`. */
  readonly url: string;
  /** What it calls the model. */
  readonly model: string;
  readonly key: string | null;
  readonly timeouts: UpstreamModelConfig['timeouts'];
  readonly limits: UpstreamModelConfig['limits'];
}

/**
 * One server that speaks OpenAI's API or nearly so. What it can do is found out by asking it: at the first request,
 * or before; and again after it could not be reached, for it may be another then.
 */
export class UpstreamServer {
  readonly #options: UpstreamServerOptions;
  readonly #http: UpstreamHttp;
  readonly #closing = new AbortController();
  readonly #secrets: readonly string[];
  #dialect: Dialect | null = null;
  #probing: Promise<Dialect> | null = null;
  #lastError: UpstreamError | null = null;

  constructor(options: UpstreamServerOptions) {
    const { url, key, timeouts, limits } = options;
    const { host, hostname } = new URL(url);
    this.#options = options;
    this.#http = new UpstreamHttp({ url, key, timeouts, responseBytes: limits.response_bytes });
    this.#secrets = [key ?? '', host, hostname];
  }

  /** `null` until it has answered. */
  get capabilities(): Capabilities | null {
    return this.#dialect?.capabilities ?? null;
  }

  /** Of the last request, `null` where it went well. */
  get lastError(): UpstreamError | null {
    return this.#lastError;
  }

  /**
   * What the server can do; asks it unless that is known. Callers at the same time share one probe.
   * @throws UpstreamError
   */
  async probe(): Promise<Capabilities> {
    return (await this.#known()).capabilities;
  }

  /** Whether the server has a way to go on with a text of which this is known. `false` until it was probed. */
  canContinue(begun: NonNullable<UpstreamRequest['begun']>): boolean {
    return this.#dialect !== null && wayOf(this.#dialect, begun) !== null;
  }

  /**
   * Resolves with the first byte of an answer; before that nothing has been written and another server may be asked.
   * @throws UpstreamError; what the signal is aborted with
   */
  async open(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const dialect = await this.#known();
    const call = callOf(this.#options.model, request, dialect);
    try {
      const exchange = await this.#send(call, signal);
      const answer = new Answer(exchange, this.#reader(exchange, call), {
        lags: request.stop.length > 0,
        failed: (error) => this.#note(error),
      });
      // Ids of the prompt stand in the first chunk.
      if (dialect.capabilities.tokenIds === 'return_token_ids') await answer.readAhead();
      this.#lastError = null;
      return answer;
    } catch (error) {
      throw this.#note(error);
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new UpstreamError('upstream_error', 'the gateway shuts down'));
    await this.#http.close();
  }

  async #known(): Promise<Dialect> {
    if (this.#dialect) return this.#dialect;
    this.#probing ??= probe(this.#options.model, (call) => this.#ask(call))
      .then((dialect) => {
        this.#dialect = dialect;
        this.#lastError = null;
        return dialect;
      })
      .catch((error: unknown) => {
        throw this.#note(error);
      })
      .finally(() => {
        this.#probing = null;
      });
    return this.#probing;
  }

  async #ask(call: Call): Promise<Chunk[]> {
    const exchange = await this.#send(call, this.#closing.signal);
    try {
      const reader = this.#reader(exchange, call);
      const chunks: Chunk[] = [];
      for (let chunk = await reader.next(); chunk; chunk = await reader.next()) chunks.push(chunk);
      return chunks;
    } catch (error) {
      exchange.cancel();
      throw error;
    }
  }

  async #send({ path, body, framing }: Call, signal: AbortSignal): Promise<Exchange> {
    const exchange = await this.#http.post(path, body, signal);
    const problem =
      exchange.status === 200
        ? problemOf(exchange, framing)
        : await refusalOf(exchange, { secrets: this.#secrets, now: Date.now() });
    if (!problem) return exchange;
    exchange.cancel();
    throw problem;
  }

  #reader(exchange: Exchange, call: Call): ChunkReader {
    return new ChunkReader(exchange, call, this.#options.limits.line_bytes);
  }

  #note(error: unknown): unknown {
    if (error instanceof UpstreamError) {
      this.#lastError = error;
      if (error.code === 'upstream_unreachable') this.#dialect = null;
    }
    return error;
  }
}

/** What a page, a whole response or a compressed one is: no stream. */
function problemOf(exchange: Exchange, framing: Call['framing']): UpstreamError | null {
  const [type = ''] = (exchange.header('content-type') ?? '').split(';');
  const encoding = exchange.header('content-encoding') ?? 'identity';
  const expected = framing === 'sse' ? ['text/event-stream'] : ['application/x-ndjson', 'application/json'];
  if (expected.includes(type.trim().toLowerCase()) && encoding === 'identity') return null;
  return new UpstreamError('upstream_error', 'the upstream answered with something that is not a stream');
}

interface AnswerOptions {
  readonly lags: boolean;
  readonly failed: (error: unknown) => void;
}

class Answer implements UpstreamAnswer {
  readonly pieces: AsyncIterable<UpstreamPiece>;
  promptIds: readonly number[] | null = null;
  readonly #exchange: Exchange;
  readonly #reader: ChunkReader;
  readonly #options: AnswerOptions;
  #ahead: Promise<Chunk | null> | null = null;
  #finishReason: UpstreamEnd['finishReason'] = 'stop';
  #usage: UpstreamEnd['usage'] = null;

  constructor(exchange: Exchange, reader: ChunkReader, options: AnswerOptions) {
    this.#exchange = exchange;
    this.#reader = reader;
    this.#options = options;
    this.pieces = this.#read();
  }

  /** Does not throw: the first byte is here, so a failure is one of the answer. */
  async readAhead(): Promise<void> {
    this.#ahead = this.#reader.next();
    const chunk = await this.#ahead.catch(() => null);
    this.promptIds = chunk?.promptIds ?? null;
  }

  end(): UpstreamEnd {
    return { finishReason: this.#finishReason, usage: this.#usage };
  }

  cancel(): void {
    this.#exchange.cancel();
  }

  async *#read(): AsyncGenerator<UpstreamPiece> {
    const aligner = new TokenAligner({ lags: this.#options.lags });
    try {
      for (let chunk = await this.#next(); chunk; chunk = await this.#next()) {
        this.#finishReason = chunk.finishReason ?? this.#finishReason;
        this.#usage = chunk.usage ?? this.#usage;
        yield* aligner.push(chunk);
      }
      yield* aligner.end();
    } catch (error) {
      this.#options.failed(error);
      throw error;
    } finally {
      this.#exchange.cancel();
    }
  }

  async #next(): Promise<Chunk | null> {
    const ahead = this.#ahead;
    this.#ahead = null;
    return ahead ?? this.#reader.next();
  }
}
