import type { Response } from 'express';
import type { ApiError } from '../errors/api-error.js';
import { Backlog } from '../generations/backlog.js';
import { Heartbeat } from '../generations/heartbeat.js';
import type { ReadGeneration, Sink } from '../generations/live-generation.js';
import { jsonText } from '../requests/exact-numbers.js';
import type { Serving } from '../serving.js';

/**
 * A comment, without an empty line after it: readers that remember the id of the last event, such as the one of
 * openai-python, take that for an event without data.
 */
const HEARTBEAT = ': heartbeat\n';

/** An event whose data is JSON, or a text as it is. */
export function sseEvent(payload: unknown, id?: string): string {
  const data = typeof payload === 'string' ? payload : jsonText(payload);
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}

/**
 * Server-Sent Events on a response. While the client does not read the generation pauses; if it does not for too long,
 * the connection is cut.
 */
export class SseSink implements Sink {
  readonly #res: Response;
  readonly #heartbeat: Heartbeat;
  readonly #backlog: Backlog;
  #opened = false;
  #corked = false;
  /** Called with a failure before the first event, which still can be a plain response. */
  readonly refused: (error: unknown) => void;

  constructor(
    res: Response,
    generation: Pick<ReadGeneration, 'pause' | 'resume' | 'detach'>,
    { streams, bounds }: Serving['settings'],
    refused: (error: unknown) => void,
  ) {
    this.#res = res;
    this.refused = refused;
    this.#heartbeat = new Heartbeat(bounds.heartbeatMs, () => {
      if (this.#opened && !this.#backlog.full) this.#write(HEARTBEAT);
    });
    this.#backlog = new Backlog({
      limitBytes: bounds.queueBytes,
      stallMs: 1000 * streams.stall_s,
      waiting: () => res.writableLength,
      pause: () => generation.pause(this),
      resume: () => generation.resume(this),
      // Behind another in a pipeline a response has no socket to destroy.
      stalled: () => res.req.socket.destroy(),
    });
    res.on('close', () => {
      this.#heartbeat.stop();
      this.#backlog.close();
      generation.detach(this);
    });
  }

  /** Sends the head of the response, if the first event has not done so. */
  open(): void {
    if (this.#opened) return;
    this.#opened = true;
    this.#cork();
    this.#res.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
    });
    this.#res.flushHeaders();
  }

  send(frame: string): void {
    this.open();
    this.#heartbeat.sent();
    this.#write(frame);
  }

  ended(): void {
    this.#res.end();
  }

  lost(error: ApiError): void {
    if (!this.#opened) return;
    this.#write(sseEvent({ error: error.body }));
    this.#res.end();
  }

  readonly #uncork = (): void => {
    this.#corked = false;
    this.#res.uncork();
  };

  readonly #written = (): void => this.#backlog.shrunk();

  /** Data that is written in one turn, such as a token and its score, is sent together. */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#res.cork();
    process.nextTick(this.#uncork);
  }

  #write(text: string): void {
    // A response that is destroyed emits an error at a write, which has no listener.
    if (this.#res.destroyed || this.#res.writableEnded) return;
    this.#cork();
    this.#res.write(text, this.#written);
    this.#backlog.grown();
  }
}
