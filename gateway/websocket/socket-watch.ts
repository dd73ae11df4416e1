import type { WebSocket } from 'ws';
import type { ConnectionBounds } from '../connection-bounds.js';
import { CLOSE_CODES, type CloseCode } from './close-codes.js';

/** Pings that may be without an answer. */
const MAX_UNANSWERED = 2;

export interface SocketWatchOptions {
  /** Whether the client does not read: then it cannot answer either. */
  readonly stalled: () => boolean;
  readonly close: (code: CloseCode, reason: string) => void;
}

/** Whether a client is still there, and sends no more than it may. Closes the connection if not. */
export class SocketWatch {
  readonly #socket: WebSocket;
  readonly #bounds: ConnectionBounds;
  readonly #options: SocketWatchOptions;
  readonly #pings: NodeJS.Timeout;
  #unanswered = 0;
  /** Messages within a second from its begin. */
  #messages = { since: 0, count: 0 };
  #stopped = false;

  constructor(socket: WebSocket, bounds: ConnectionBounds, options: SocketWatchOptions) {
    this.#socket = socket;
    this.#bounds = bounds;
    this.#options = options;
    this.#pings = setInterval(() => this.#ping(), bounds.heartbeatMs).unref();
    // Each is answered: a flood of them is as much work as one of messages.
    socket.on('ping', () => this.counted());
    socket.on('pong', () => {
      // Unsolicited pongs count, too.
      if (this.#unanswered === 0) this.counted();
      this.heard();
    });
  }

  /** The client is there, or its answers may have waited. */
  heard(): void {
    this.#unanswered = 0;
  }

  /** Whether one more message is within the limit; the connection is closed if not. */
  counted(): boolean {
    if (this.#stopped) return false;
    const now = performance.now();
    if (now - this.#messages.since >= 1000) this.#messages = { since: now, count: 0 };
    this.#messages.count += 1;
    const { messagesPerSecond: most } = this.#bounds;
    if (this.#messages.count <= most) return true;
    this.#options.close(CLOSE_CODES.tooManyMessages, `more than ${most} messages per second`);
    return false;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#pings);
  }

  #ping(): void {
    const { stalled, close } = this.#options;
    if (stalled() || this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#unanswered >= MAX_UNANSWERED) {
      close(CLOSE_CODES.noPong, 'no response to pings');
    } else {
      this.#unanswered += 1;
      this.#socket.ping();
    }
  }
}
