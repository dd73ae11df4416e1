import type { Response } from 'express';
import type { FlowGate } from '../src/stream/flow-gate.js';

/** Server-Sent Events on a response. While the client does not read, the gate is held and the generation pauses. */
export class SseWriter {
  readonly #res: Response;
  readonly #gate: FlowGate;
  #release: (() => void) | null = null;

  constructor(res: Response, gate: FlowGate) {
    this.#res = res;
    this.#gate = gate;
    res.on('drain', () => this.#resume());
    res.on('close', () => this.#resume());
  }

  get started(): boolean {
    return this.#res.headersSent;
  }

  /** One `data:` event; text as it is, anything else as JSON. */
  data(payload: unknown): void {
    if (!this.started) {
      this.#res.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-cache',
        'X-Accel-Buffering': 'no',
      });
    }
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    if (!this.#res.write(`data: ${text}\n\n`)) this.#release ??= this.#gate.hold();
  }

  end(): void {
    this.#res.end();
  }

  #resume(): void {
    this.#release?.();
    this.#release = null;
  }
}
