import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/**
 * Bytes of a frame with a mask and a payload of at most 125 bytes, as pings and pongs have, without the
 * payload.
 */
const CONTROL_HEADER = 6;
const CHECK_MS = 1000;

interface Unfinished {
  bytes: number;
  since: number;
  readonly close: (reason: string) => void;
}

/**
 * Data of messages that are not whole, which ws keeps until they are. A connection whose message takes too
 * long is closed, and so is the one with most bytes if all have too many.
 */
export class UnfinishedMessages {
  readonly #mostBytes: number;
  readonly #mostMs: number;
  readonly #all = new Set<Unfinished>();
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  /**
   * @param mostBytes of all connections together
   * @param mostMs time of a message
   */
  constructor(mostBytes: number, mostMs: number) {
    this.#mostBytes = mostBytes;
    this.#mostMs = mostMs;
    this.#timer = setInterval(() => this.#closeSlow(), Math.min(CHECK_MS, mostMs / 4)).unref();
  }

  /** @param close ends the connection */
  watch(socket: WebSocket, connection: Duplex, close: (reason: string) => void): void {
    const unfinished: Unfinished = { bytes: 0, since: 0, close };
    this.#all.add(unfinished);
    const set = (bytes: number): void => {
      this.#bytes += bytes - unfinished.bytes;
      unfinished.bytes = bytes;
    };
    // Runs before ws reads the data and reports whole messages. Data after a message in the same packet is
    // not counted.
    connection.prependListener('data', (chunk: Buffer) => {
      if (unfinished.bytes === 0) unfinished.since = performance.now();
      set(unfinished.bytes + chunk.length);
    });
    connection.on('data', () => {
      if (this.#bytes > this.#mostBytes) this.#closeLargest();
    });
    const control = ({ length }: Buffer): void =>
      set(Math.max(0, unfinished.bytes - length - CONTROL_HEADER));
    socket.on('message', () => set(0));
    socket.on('ping', control).on('pong', control);
    connection.once('close', () => {
      this.#all.delete(unfinished);
      set(0);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #closeLargest(): void {
    const [first, ...others] = this.#all;
    if (!first) return;
    const largest = others.reduce((a, b) => (b.bytes > a.bytes ? b : a), first);
    this.#end(largest, 'too many unfinished messages');
  }

  #closeSlow(): void {
    const before = performance.now() - this.#mostMs;
    for (const unfinished of this.#all)
      if (unfinished.bytes > 0 && unfinished.since < before)
        this.#end(unfinished, 'the message took too long to arrive');
  }

  #end(unfinished: Unfinished, reason: string): void {
    this.#all.delete(unfinished);
    this.#bytes -= unfinished.bytes;
    unfinished.bytes = 0;
    unfinished.close(reason);
  }
}
