import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { UpstreamError, type UpstreamErrorCode } from '../upstream-error.js';

export interface ExchangeOptions {
  /** Time from the request to the first byte of the body. */
  readonly firstByteMs: number;
  /** Time that a reader waits for more of the body. */
  readonly idleMs: number;
  readonly responseBytes: number;
  readonly signal: AbortSignal;
}

/** How long the end of an answer may take that is whole; after that its connection is closed. */
const LEAVE_MS = 2000;

/** Bytes that may wait for the reader before the socket has to; Node's buffers take as many again. */
const HIGH_WATER_BYTES = 64 << 10;

/** One request, which its creator has to send, and its answer, read chunk by chunk. */
export class Exchange {
  /** Resolves with the first byte of the body, or with its end. */
  readonly started: Promise<void>;
  status = 0;
  headers: Readonly<IncomingHttpHeaders> = {};
  readonly #request: ClientRequest;
  readonly #options: ExchangeOptions;
  #timer: NodeJS.Timeout | undefined;
  #response: IncomingMessage | null = null;
  #resolveBegun: () => void = () => {};
  #rejectBegun: (error: unknown) => void = () => {};
  #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #received = 0;
  readonly #sentAt = performance.now();
  #hasBegun = false;
  #ended = false;
  #left = false;
  #failure: { readonly error: unknown } | null = null;
  #wake: (() => void) | null = null;
  readonly #onAbort = (): void => this.#fail(this.#options.signal.reason);

  constructor(request: ClientRequest, options: ExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.started = new Promise((resolve, reject) => {
      this.#resolveBegun = resolve;
      this.#rejectBegun = reject;
    });
    this.#limit(options.firstByteMs);
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    request.on('response', (response) => this.#receive(response));
    request.on('error', (error) => this.#fail(connectionError(error, this.#hasBegun)));
    request.on('close', () => {
      // There is no error event if the server switches to another protocol, which it was not asked for.
      if (!this.#response) this.#fail(connectionError(new Error('no answer'), false));
    });
  }

  /** How long the first part that says something may take from now on, and each after it. */
  get patience(): { readonly firstMs: number; readonly nextMs: number } {
    const { firstByteMs, idleMs } = this.#options;
    const waited = performance.now() - this.#sentAt;
    return { firstMs: Math.max(firstByteMs - waited, idleMs), nextMs: idleMs };
  }

  /** Error for an answer that does not come, or does not go on. */
  get timeout(): UpstreamError {
    const what = this.#hasBegun ? 'stopped sending during its answer' : 'did not answer in time';
    return new UpstreamError('upstream_timeout', `the upstream ${what}`);
  }

  /**
   * The next bytes of the body, `null` after the last.
   * @param withinMs the time that they may take
   * @throws UpstreamError; what the signal was aborted with
   */
  async read(withinMs = this.#options.idleMs): Promise<Uint8Array | null> {
    if (this.#chunks.length === 0 && !this.#ended && !this.#failure) {
      this.#limit(withinMs);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const chunk = this.#chunks.shift();
    if (chunk) {
      this.#waitingBytes -= chunk.length;
      if (this.#waitingBytes < HIGH_WATER_BYTES / 2 && this.#response?.isPaused()) this.#response.resume();
      return chunk;
    }
    if (this.#failure) throw this.#failure.error;
    return null;
  }

  /**
   * The answer is whole, whatever the body still holds: that is dropped, and cannot be cancelled any more, so that the
   * connection serves the next request. A body that does not end soon is cut.
   */
  leave(): void {
    if (this.#ended || this.#failure) return;
    this.#left = true;
    this.#chunks = [];
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#limit(Math.min(LEAVE_MS, this.#options.idleMs));
    this.#response?.resume();
  }

  /** Stops reading: closes the connection, unless the answer is whole. */
  cancel(): void {
    if (!this.#ended && !this.#left)
      this.#fail(new UpstreamError('upstream_error', 'the request was cancelled'));
  }

  header(name: string): string | undefined {
    const value = this.headers[name];
    return typeof value === 'object' ? value[0] : value;
  }

  #receive(response: IncomingMessage): void {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.on('data', (chunk: Uint8Array) => this.#take(chunk));
    response.on('end', () => this.#end());
    response.on('error', (error) => this.#fail(connectionError(error, this.#hasBegun)));
  }

  #take(chunk: Uint8Array): void {
    if (this.#failure || this.#left) return;
    clearTimeout(this.#timer);
    this.#received += chunk.length;
    if (this.#received > this.#options.responseBytes) {
      this.#fail(new UpstreamError('upstream_error', 'the answer of the upstream is too large'));
      return;
    }
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > HIGH_WATER_BYTES) this.#response?.pause();
    this.#begin();
    this.#wakeUp();
  }

  #end(): void {
    if (this.#failure) return;
    this.#ended = true;
    this.#finish();
    this.#begin();
    this.#wakeUp();
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#resolveBegun();
  }

  /** Fails the exchange. Data that was received before is still read. */
  #fail(error: unknown): void {
    if (this.#failure || this.#ended) return;
    this.#failure = { error };
    this.#finish();
    this.#rejectBegun(error);
    this.#request.destroy();
    this.#wakeUp();
  }

  /** The answer fails unless more of it comes within this time. */
  #limit(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(this.timeout), ms);
  }

  #finish(): void {
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

/** The errors of sockets and of Node's parser, without their texts: these hold addresses. */
function connectionError(error: Error, hasBegun: boolean): UpstreamError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  const fault = (kind: UpstreamErrorCode, message: string) =>
    new UpstreamError(kind, message, { reason: code });
  if (hasBegun) return fault('upstream_error', 'the upstream closed the connection during its answer');
  if (code.startsWith('HPE_')) return fault('upstream_error', 'the upstream sent invalid HTTP');
  return fault('upstream_unreachable', 'the upstream cannot be reached');
}
